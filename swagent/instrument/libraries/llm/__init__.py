"""Clients of language models."""
