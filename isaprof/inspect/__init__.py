"""The kernel's passport: all that can be derived from a code object alone.

:func:`isaprof.inspect.passport.inspect_kernel` makes one; what is not provable
says so.
"""
