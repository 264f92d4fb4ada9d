"""What one instrumented call costs: a native span and a bridged one, with and without the context's headers."""
