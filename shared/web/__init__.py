"""HTTP code that all services share."""
