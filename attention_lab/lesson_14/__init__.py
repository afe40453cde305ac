"""Given code and visible tests of lesson 14 · Language model."""
