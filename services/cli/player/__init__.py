"""Commands for scorers and players: files, or a club over HTTP. They need no operator's rights."""
