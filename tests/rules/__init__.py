"""Tests of the game's rules."""
