"""Gradebooks of learning platforms, as plug-ins of `nbgrader export`."""
