"""The sandbox: kernels forked from one warm interpreter inside bubblewrap (Linux only)."""
