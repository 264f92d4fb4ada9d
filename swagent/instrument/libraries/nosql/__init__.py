"""Databases that speak other languages than SQL."""
