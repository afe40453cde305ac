"""New lessons and exercises to begin from, which run as they are, in the form that a course hands over."""
