"""The MCP face: arguments in, one use, one JSON object out."""
