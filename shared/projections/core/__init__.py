"""What a projection is, its checkpoint and lease, how far it is and how it feels."""
