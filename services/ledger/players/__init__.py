"""What becomes of players over many pulkas: figures, ratings, standings."""
