"""The books in files for others: NDJSON, CSV, Parquet."""
