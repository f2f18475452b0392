"""Commits that cannot be applied: the table waits, the others go on, and an operator decides."""
