"""HTTP clients, and the handshakes of websockets."""
