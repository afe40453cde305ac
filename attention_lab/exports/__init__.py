"""Moved to `nbjudge.exports`."""
