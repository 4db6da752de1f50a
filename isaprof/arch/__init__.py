"""Architecture tables: the facts of each GPU target, as data with sources."""
