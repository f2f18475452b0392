"""Commands that run services, and the processes they run in."""
