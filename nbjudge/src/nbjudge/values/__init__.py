"""Values of any kind that an answer takes or returns: how they travel, are copied, compared, described."""

from nbjudge.values import tables

__all__ = ["tables"]
