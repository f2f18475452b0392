"""The game of preferans: pure functions and records, no clock, no randomness, no I/O.

`3.9.3`, `FN59`: rules and footnotes of the Code of Preferans. `Decision 13`: deploy/docs/rules.md. Documents: deploy/docs/formats.md.
"""
