"""The course as a website."""
