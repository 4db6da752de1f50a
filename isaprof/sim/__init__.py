"""The embedded simulator: functional execution and timing, kept apart."""
