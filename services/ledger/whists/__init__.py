"""Who won what of whom: postings in double entry, and the statements read from them."""
