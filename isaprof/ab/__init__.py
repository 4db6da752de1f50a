"""A against B: are both right, and which is faster, instruction by instruction."""
