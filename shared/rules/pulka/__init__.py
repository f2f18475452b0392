"""The match: a decider over deals, seats, members and corrections."""
