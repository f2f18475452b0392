"""One deal at an enforced table: a decider, one file a phase."""
