"""Serving: HTTP on one port, stdio, worker processes, the upkeep runner."""
