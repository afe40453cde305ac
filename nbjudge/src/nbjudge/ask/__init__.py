"""What is asked of a student's kernel and what it answers: protocol, program, replies as data."""
