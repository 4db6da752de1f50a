"""Launch files: how a kernel's arguments, grid and reference follow from a shape."""
