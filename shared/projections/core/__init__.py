"""What a projection is, its checkpoint and lease, its progress and its health."""
