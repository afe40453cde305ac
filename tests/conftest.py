"""Configuration of the course's tests."""

from shared_hooks import *  # noqa: F403
