"""Lesson 6, the efficient reshape: all heads in one product, cut apart and merged."""
