"""One notebook from its merged form to its graded one, as a job that can be done anywhere."""
