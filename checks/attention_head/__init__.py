"""Lesson 4, one head: attention that owns its projections and carries its mask."""
