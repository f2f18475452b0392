"""What every command says, reads and draws alike."""
