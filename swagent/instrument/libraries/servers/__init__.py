"""Servers, and frameworks that serve: the middleware around their applications, or a request's span in their own."""
