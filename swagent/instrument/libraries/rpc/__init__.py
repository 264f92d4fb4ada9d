"""gRPC, by both of its libraries and at both ends."""
