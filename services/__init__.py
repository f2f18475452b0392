"""The services, the built-in players and the command `pulka`. No service imports another; the command may import all of them."""
