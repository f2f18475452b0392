"""The tests of Pulka."""
