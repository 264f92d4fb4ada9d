"""The cost of one instrumented call: a native span and a bridged one, with and without the context's headers."""
