from sandbox_fixtures import another_view, start, view

__all__ = ["another_view", "start", "view"]
