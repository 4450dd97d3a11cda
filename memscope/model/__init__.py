"""Frozen types of the domain. No I/O; imports nothing of MemScope but itself."""
