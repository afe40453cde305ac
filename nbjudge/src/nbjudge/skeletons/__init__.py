"""New lessons and exercises to begin from, which run as they are."""
