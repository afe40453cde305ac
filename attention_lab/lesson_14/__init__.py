"""Given code and visible tests of lesson 14."""
