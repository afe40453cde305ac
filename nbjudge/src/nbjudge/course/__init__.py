"""A course folder: its lessons, checks, configuration, students and gradebook."""
