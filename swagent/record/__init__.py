"""The application's side: synchronous, bounded, total. No event loop, no I/O, no lock across foreign code."""
