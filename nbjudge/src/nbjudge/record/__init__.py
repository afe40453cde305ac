"""What grading leaves in a graded notebook, written and read here only."""
