"""Configuration of nbjudge's own tests."""

from shared_hooks import *  # noqa: F403
