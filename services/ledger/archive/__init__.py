"""Settled tables that were moved out of the log to files, and reading the log together with them."""
