"""Brokers' clients, and the queues of jobs that stand on them."""
