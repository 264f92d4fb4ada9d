"""How fast records get from the application to a collector that takes its time, and what that costs."""
