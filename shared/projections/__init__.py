"""Read tables folded from the log: follow with a checkpoint, park what cannot be applied, rebuild, wait for a position.

For every service that keeps read tables: write a `Projection`, hand it to a `Projector`. The rooms, each importing only those after it:
`versions`, `following`, `parking`, `core`; a service without rebuilds needs the last three.
"""
