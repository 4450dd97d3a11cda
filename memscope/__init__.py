"""MemScope: an organization's memory for AI agents."""

__version__ = "0.1.0"
