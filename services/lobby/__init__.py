"""The lobby: people, and tables before and around their pulka. Event-sourced on its own subjects; follows the tables' log."""
