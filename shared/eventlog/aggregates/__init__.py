"""Aggregates over the log: folded, kept in hand, decided on, and their books closed."""
