"""Moves (what is asked), events (what happened), refusals, and how numbers and JSON are read. Imports no other room."""
