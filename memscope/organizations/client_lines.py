"""How clients connect: the exact lines that a person types or writes."""

from __future__ import annotations

import base64
import json
from urllib.parse import quote

PLACEHOLDER = "YOUR-TOKEN"
VARIABLE = "MEMSCOPE_TOKEN"

CLIENTS = {
    "claude-code": "Claude Code",
    "codex": "Codex",
    "cursor": "Cursor",
    "vscode": "VS Code",
    "gemini": "Gemini CLI",
    "claude-desktop": "Claude Desktop",
    "chatgpt": "ChatGPT",
    "generic": "Another client",
}
"""Names on the command line → as people know them."""


def lines(client: str, url: str, token: str = PLACEHOLDER) -> list[str]:
    """What a person types or writes to connect a client to the server at `url`."""
    mcp = f"{url}/mcp"
    bearer = f"Authorization: Bearer {token}"
    match client:
        case "claude-code":
            return [f'claude mcp add --transport http memscope {mcp} --header "{bearer}"']
        case "codex":
            return [f"export {VARIABLE}={token}", f"codex mcp add memscope --url {mcp} --bearer-token-env-var {VARIABLE}"]
        case "gemini":
            return [f'gemini mcp add --transport http memscope {mcp} -H "{bearer}"']
        case "cursor":
            entry = {"url": mcp, "headers": {"Authorization": f"Bearer ${{env:{VARIABLE}}}"}}
            config = quote(base64.b64encode(json.dumps(entry).encode()).decode())
            return [
                f"export {VARIABLE}={token}",
                "# ~/.cursor/mcp.json, or .cursor/mcp.json in one project:",
                *_json({"mcpServers": {"memscope": entry}}),
                "# or open this link:",
                f"cursor://anysphere.cursor-deeplink/mcp/install?name=memscope&config={config}",
            ]
        case "vscode":
            entry = {"type": "http", "url": mcp, "headers": {"Authorization": "Bearer ${input:memscope-token}"}}
            asked = {"type": "promptString", "id": "memscope-token", "description": "MemScope access token", "password": True}
            return [
                f"# .vscode/mcp.json (VS Code asks for the token, {token}):",
                *_json({"servers": {"memscope": entry}, "inputs": [asked]}),
            ]
        case "claude-desktop":
            bridge = {
                "command": "npx",
                "args": ["-y", "mcp-remote", mcp, "--header", "Authorization:${AUTH}"],
                "env": {"AUTH": f"Bearer {token}"},
            }
            local = {"command": "memscope", "args": ["stdio"], "env": {VARIABLE: token}}
            return [
                "# claude_desktop_config.json, when MemScope is installed on the same machine:",
                *_json({"mcpServers": {"memscope": local}}),
                "# or, for a server elsewhere:",
                *_json({"mcpServers": {"memscope": bridge}}),
            ]
        case "chatgpt":
            return [
                "In ChatGPT: Settings, Connectors, Create; as server address:",
                mcp,
                "ChatGPT connects from its own network: the address must be https and reachable from the internet, and sign-in is",
                "by OAuth in the browser; an access token cannot be entered there.",
            ]
        case _:
            return [
                f"address:    {mcp}",
                "transport:  streamable HTTP",
                f"header:     {bearer}",
                f"or, on the server's machine, standard input and output of: {VARIABLE}={token} memscope stdio",
            ]


def _json(value: object) -> list[str]:
    return json.dumps(value, indent=2).splitlines()
