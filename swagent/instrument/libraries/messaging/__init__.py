"""Brokers' clients, and the queues of jobs that are built on them."""
