"""The command `pulka`: `main` finds a command by its name and imports it only then.

The rooms, each importing only those after it: `operator`, `serving`, and beside them `player`; then `console`; then `embedded`, the servers
that `pulka up` can start by itself.
"""
