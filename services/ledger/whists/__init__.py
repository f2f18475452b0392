"""Who won how much from whom: postings in double entry, and the statements read from them."""
