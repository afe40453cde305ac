"""What runs inside bubblewrap: shown there as the package `inside`, with nothing else of the grader."""
