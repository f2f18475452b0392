"""Pulkas and deals as documents: read, scored, replayed, compared, told in words."""
