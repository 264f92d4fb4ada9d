"""The price of an agent before the first request and between requests: starts, memory, idle processes."""
