"""The persisted language: what stands in the log, how it is read back for ever, and how it is kept secret until it may be known."""
