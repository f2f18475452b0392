"""The loop that follows the log into rows, and its workers."""
