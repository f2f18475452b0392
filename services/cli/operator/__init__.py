"""Commands for whoever runs the servers: audit, books, archive, exports, tokens."""
