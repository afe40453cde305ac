"""Checks, tried by their author before a class meets them."""
