"""How many instructions a request takes, counted by callgrind: what a noisy machine can judge."""
