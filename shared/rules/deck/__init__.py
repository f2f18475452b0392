"""Cards, tricks, contracts, seats, and the shuffle that anyone can check."""
