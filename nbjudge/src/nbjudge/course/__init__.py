"""A course folder: its assignments, checks, configuration, students and gradebook."""
