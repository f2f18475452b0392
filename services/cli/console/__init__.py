"""Output, input and drawings that all commands share."""
