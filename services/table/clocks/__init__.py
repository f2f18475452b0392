"""The clocks of all tables: who sweeps which streams, what an outage gives back, and what is done when a turn is over."""
