"""An invented class that hands in a lesson and is graded: `make demo`."""
