"""Upkeep: long jobs that can be stopped and taken up again. Each is a generator that yields how far it is and returns its result."""
