"""Whether the collector finds what is amiss: causes that are planted in small applications, and healthy variants."""
