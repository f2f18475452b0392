"""The rows of a table, one question a file: what makes them, what fills them, what reads them."""
