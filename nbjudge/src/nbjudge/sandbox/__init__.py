"""The sandbox: kernels that a fork server inside bubblewrap forks (Linux only)."""
