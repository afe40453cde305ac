"""The notebook that is graded: the course's own, with the student's answers put in."""
