"""Static analysis of a listing: control flow, wait counters, liveness."""
