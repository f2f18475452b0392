"""Work that instances share out by leases: a fair share for each, and who stands still is replaced; in Postgres and in memory."""
