"""Detectors, one a module; :func:`isaprof.inspect.technique.discover` finds them."""
