"""What is kept: records, bounded by count and age, in memory or in a file."""
