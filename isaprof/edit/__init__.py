"""The ladder of edits: numbered steps of one kernel, each assembled, verified and compared."""
