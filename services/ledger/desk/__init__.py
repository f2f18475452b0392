"""How the rows are read over HTTP: the pool of readers, who may see what, and waiting for a position."""
