"""What the grader asks in lesson 5, multi-head attention."""
