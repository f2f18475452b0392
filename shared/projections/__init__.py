"""Read tables folded from the log: follow with a checkpoint, park what cannot be applied, rebuild, wait for a position.

For every service that keeps read tables: write a `Projection`, hand it to a `Projector`.
"""
