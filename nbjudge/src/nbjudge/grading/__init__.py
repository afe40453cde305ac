"""One notebook from its rebuilt form to its graded one, as a job that can be done anywhere."""
