API: int
