"""Code that runs in the student's kernel: it is sent there as text and needs only the standard library."""
