"""Attaching to an application that serves under load."""
