"""The records that are kept, bounded by count and age, in memory or in a file."""
