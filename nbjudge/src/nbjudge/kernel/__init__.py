"""The grader's client of a student's kernel: start it, run cells, call answers, enforce deadlines."""
