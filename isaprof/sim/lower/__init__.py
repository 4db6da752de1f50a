"""Lowering: each instruction becomes, once, a closure that executes it on a wave."""
