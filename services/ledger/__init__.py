"""The club's books: what is read about tables and players, folded from the log, and the proof that it is right. Holds no key."""
