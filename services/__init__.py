"""Code that every service may use; it knows no service."""
