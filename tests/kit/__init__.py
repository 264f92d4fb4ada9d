"""What tests and `stress` stand on: peers, proxies, brokers, sinks that count, ports, and clients that are watched."""
