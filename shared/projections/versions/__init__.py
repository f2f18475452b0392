"""Blue/green rebuild: a new version of the rows is filled beside the one that is read, then readers switch."""
