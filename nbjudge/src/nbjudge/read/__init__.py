"""What was handed in, read with care."""
