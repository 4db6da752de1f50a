"""The fast executor: predecoded micro-ops interpreted by C code that is compiled on the user's machine.

Second implementation of the operations that :mod:`isaprof.sim.semantics` names.
What it lacks, the NumPy reference executes on the same state, instruction by
instruction, so that coverage, faults and their wording are the reference's.
"""
