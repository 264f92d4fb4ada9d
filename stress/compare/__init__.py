"""One application under each agent, side by side: what an agent costs, and what it delivers for that."""
