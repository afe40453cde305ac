"""What the grader asks in lesson 2, one file an exercise."""
