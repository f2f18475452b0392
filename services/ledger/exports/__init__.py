"""The ledger exported to files: NDJSON, CSV, Parquet."""
