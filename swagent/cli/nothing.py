"""What a process runs in place of an order that was taken back: nothing."""
