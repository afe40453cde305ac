"""How values travel between the judge and a kernel."""
