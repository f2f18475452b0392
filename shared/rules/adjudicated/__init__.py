"""The second mode of a table: irregular acts happen, stand in the log as what they are, and are remedied when attention is called in time.

The front, all pure:

* `decider`: `open_court(deal, terms, entropy) -> Court`, `decide(court, maker, move, now) -> events | Refused`, `evolve(court, event)`,
  `pause_over(court) -> events` (the end of the pause after a deal, `court.terms.pause_ms`). `maker` is a seat or `ARBITER`.
* `court`: `Court`, which shows the face of a `Deal` and besides it `awaits_confirmation`, `confirmed`, `redealt`, `infractions`;
  `CourtTerms`.
* `offering`: `legal_moves`, `offer`, `default_move` as the enforced deal has them.

Events are those of `game_events` and of `irregular_events`, moves those of `moves`. Which file has which rule:
`placing` and `play_acts` 3.9.14-3.9.18, `looks` 3.4.9, 3.9.8-3.9.11.2, 3.9.15, `auction_acts` 3.2.19-3.3.18, `order_acts` 3.4, `advice`
3.9.20, `damages` what open cards prove, `disputes` 3.8.5.1, `remedies` who answers what, `finishing` the end and 3.9.16.2, `sheet_entries`
4.2.7-4.2.10, `dealing_faults` 3.2, `rulings` the arbiter, `attention` who calls what and when. `replaying` reads records,
`moves_of_events` tells which move an event stands for.
"""
