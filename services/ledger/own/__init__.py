"""The ledger as a writer: the events that it appends itself."""
