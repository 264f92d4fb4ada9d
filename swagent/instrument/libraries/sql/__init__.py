"""Drivers of SQL databases, and SQLAlchemy above them."""
