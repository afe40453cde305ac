"""Assertions under the names that nose had, as public courses still write them."""

from unittest import TestCase

assert_equal = TestCase().assertEqual
assert_raises = TestCase().assertRaises
