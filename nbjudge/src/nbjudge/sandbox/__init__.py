"""The sandbox: kernels forked from one fork server inside bubblewrap (Linux only)."""
