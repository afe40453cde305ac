"""Overrides: an instructor decides in the judge's place, for all students with the same answer."""
