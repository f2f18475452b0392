"""The log on NATS JetStream: the only room that speaks to NATS."""
