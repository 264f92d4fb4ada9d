"""What several suites need: servers in threads of their own, peers that misbehave, certificates, and watchmen."""
