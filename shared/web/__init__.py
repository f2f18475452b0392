"""What the HTTP side of every service has in common."""
