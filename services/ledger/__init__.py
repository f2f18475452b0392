"""The club's books: what is read about tables and players, folded from the log, and the proof that it is right. Holds no key.

The rooms, each importing only those after it: `archive`, `audit`, then `books.py` (all views as one projection), `exports`, `sheet`,
`players`, `whists`, `desk`, `views`, `own`.
"""
