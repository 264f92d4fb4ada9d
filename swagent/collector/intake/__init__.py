"""The intake over gRPC, HTTP and Kafka, from the wire to records."""
