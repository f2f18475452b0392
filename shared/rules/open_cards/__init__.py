"""Play with all cards known: exact results of games, misere and all-pass, best lines, best discards. Pure.

`declarer.py` and `all_pass.py` answer questions, `discard.py` tries every discard, `document.py` is `pulka solve`. They ask `search.py`,
which loads the compiled `kernel.py` at the first question: importing these modules costs nothing.
"""
