"""The command `pulka` and the servers it can start by itself."""
