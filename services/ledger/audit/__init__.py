"""What proves the books: verification, signed checkpoints, proofs, and exports for strangers."""
