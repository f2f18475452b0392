"""Proof that the ledger is right: verification, signed checkpoints, proofs, and exports for strangers."""
