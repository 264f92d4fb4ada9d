"""What the page asks: queries as JSON, and news of changes."""
