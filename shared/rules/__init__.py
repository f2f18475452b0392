"""The game of preferans: pure functions and records, no clock, no randomness, no I/O."""
