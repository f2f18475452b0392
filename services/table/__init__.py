"""The table service: owns a pulka from its first deal to its settlement, runs the rules, and is the only writer of a table's log."""
