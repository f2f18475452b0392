"""Stored events: what the log holds, how it is read back, and how cards stay sealed until they may be known."""
