"""What runs in the student's kernel: it is sent there as text and needs nothing of this package beside it."""
