"""The tools as a page of documentation, made from their declarations: `python -m memscope.mcp_server.reference > docs/tools.md`."""

from __future__ import annotations

from memscope.mcp_server.arguments import Parameter
from memscope.mcp_server.server import TOOLS
from memscope.mcp_server.tool import Tool

HEAD = """# Tools

What agents can call. This page is made from the declarations that the server checks arguments by.

Every tool answers one JSON object, as structured content and as the same JSON in a text block. Times are RFC 3339 in UTC. A refused call is a result
with `isError` whose object is `{"error": {"code", "message", "hint", ...}}`; the message says what to do next. Unknown parameters are refused by name.
"""


def markdown() -> str:
    """The whole page."""
    return "\n".join([HEAD, *(_tool(tool) for tool in TOOLS)])


def _tool(tool: Tool) -> str:
    kind = "Reads only." if tool.read_only else "Changes something." + (" May take something away." if tool.destructive else "")
    lines = [f"## {tool.name}", "", f"**{tool.title}.** {tool.about}", "", kind, ""]
    if tool.parameters:
        lines += ["| parameter | takes | meaning |", "| --- | --- | --- |", *(_row(parameter) for parameter in tool.parameters), ""]
    else:
        lines += ["Takes no parameters.", ""]
    return "\n".join(lines)


def _row(parameter: Parameter) -> str:
    default = "" if parameter.default in (None, False) else f" (default {parameter.default})"
    return f"| `{parameter.name}`{', required' if parameter.required else ''} | {parameter.takes()}{default} | {parameter.about} |".replace(
        "\n", " "
    )


if __name__ == "__main__":
    print(markdown(), end="")
