"""Pulkas and deals as documents: read, scored, replayed, compared, explained in words."""
