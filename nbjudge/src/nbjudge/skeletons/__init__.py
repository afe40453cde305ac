"""New assignments and exercises that run as they are, in the form that a course hands over."""
