"""Reading what a student handed in, and merging it into the source notebook."""
