"""The basis of tests and `stress`: peers, proxies, brokers, sinks that count, ports, and clients that are watched."""
