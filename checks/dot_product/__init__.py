"""What the grader asks in lesson 1, one file an exercise."""
