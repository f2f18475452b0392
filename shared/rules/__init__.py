"""The game of preferans: pure functions and records, no clock, no randomness, no I/O.

The rooms, each importing only those below it (`make lint` holds the order):

* `pulka`: the match
* `score_files`: pulkas and deals as documents
* `adjudicated`: a deal whose irregular acts are ruled on
* `deal`: a deal in which they are refused
* `open_cards`: play with all cards known; `scoring`: entries, sheet, settlement
* `convention`: what a table agrees on; `deck`: cards, contracts, seats
* `language`: moves, events, refusals

`3.9.3`, `FN59`: rules and footnotes of the Code of Preferans. `Decision 13`: deploy/docs/rules.md. Documents: deploy/docs/formats.md.
"""
