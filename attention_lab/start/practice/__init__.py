"""Practice from memory: what is due today, from the learner's own results, on the learner's machine."""
