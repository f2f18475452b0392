"""Built-in players: a strategy over the public view of a table, a client of the HTTP API, and the host that fills seats with them."""
