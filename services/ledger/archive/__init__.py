"""Settled tables that have left the log, and the log together with them."""
