"""From the answers of a kernel to a verdict: comparison, diagnosis, words."""
