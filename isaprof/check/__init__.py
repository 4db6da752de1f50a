"""Run-time sanitizer: what hardware hides, found while the simulator executes a kernel."""
