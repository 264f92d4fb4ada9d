"""The page's API: queries as JSON, and a stream that says when something has changed."""
