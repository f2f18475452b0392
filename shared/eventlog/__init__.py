"""The log as a port with two adapters that pass one contract suite: NATS JetStream, and a twin in memory."""
