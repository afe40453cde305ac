"""A student's kernel: started, watched, restarted, ended."""
