"""The student's first steps: the released lessons, the check of the set-up, the progress page."""
