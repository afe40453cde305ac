"""Moved to `nbjudge.feedback`."""
