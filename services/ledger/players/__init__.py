"""Players over many pulkas: figures, ratings, standings."""
