"""The catalogue: each module has ``RULES``, a tuple of :class:`isaprof.lint.model.Rule`."""
