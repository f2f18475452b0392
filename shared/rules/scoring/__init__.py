"""From the outcome of a deal to entries, the sheet and the settlement. Knows no cards that were played, only what came of them."""
