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


def lines(client: str, url: str, token: str | None = None) -> list[str]:
    """What a person types or writes to connect a client to the server at `url`.

    Without a token the client opens the browser, where the person signs in and allows it. With one it goes to an address
    that says nothing of signing in: some clients forget the token they were given when they hear of that.
    """
    return _signing_in(client, f"{url}/mcp") if token is None else _with_token(client, url, token)


def _signing_in(client: str, mcp: str) -> list[str]:
    match client:
        case "claude-code":
            return [f"claude mcp add --transport http memscope {mcp}", "# then, in Claude Code: /mcp, memscope, Authenticate"]
        case "codex":
            return [f"codex mcp add memscope --url {mcp}", "codex mcp login memscope"]
        case "gemini":
            return [f"gemini mcp add --transport http memscope {mcp}", "# then, in Gemini CLI: /mcp auth memscope"]
        case "cursor":
            entry = {"url": mcp}
            return [
                "# ~/.cursor/mcp.json, or .cursor/mcp.json in one project:",
                *_json({"mcpServers": {"memscope": entry}}),
                "# or open this link:",
                _cursor_link(entry),
            ]
        case "vscode":
            entry = {"type": "http", "url": mcp}
            return [
                "# .vscode/mcp.json:",
                *_json({"servers": {"memscope": entry}}),
                "# or, on the command line:",
                f"code --add-mcp '{json.dumps({'name': 'memscope', **entry})}'",
            ]
        case "claude-desktop":
            return [
                "In Claude: Settings, Connectors, Add custom connector; as address:",
                mcp,
                "Claude connects from its own network: the address must be https and reachable from the internet. For another one,",
                "claude_desktop_config.json:",
                *_json({"mcpServers": {"memscope": {"command": "npx", "args": ["-y", "mcp-remote", mcp]}}}),
            ]
        case "chatgpt":
            return [
                "In ChatGPT: Settings, Connectors, Create; as server address, with OAuth:",
                mcp,
                "ChatGPT connects from its own network: the address must be https and reachable from the internet.",
            ]
        case _:
            return [
                f"address:    {mcp}",
                "transport:  streamable HTTP",
                "sign-in:    OAuth 2.1 in the browser, which the client finds by itself",
            ]


def _with_token(client: str, url: str, token: str) -> list[str]:
    mcp = f"{url}/mcp/token"
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
            return [
                f"export {VARIABLE}={token}",
                "# ~/.cursor/mcp.json, or .cursor/mcp.json in one project:",
                *_json({"mcpServers": {"memscope": entry}}),
                "# or open this link:",
                _cursor_link(entry),
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
            return ["An access token cannot be entered in ChatGPT.", *_signing_in(client, f"{url}/mcp")]
        case _:
            return [
                f"address:    {mcp}",
                "transport:  streamable HTTP",
                f"header:     {bearer}",
                f"or, on the server's machine, standard input and output of: {VARIABLE}={token} memscope stdio",
            ]


def _cursor_link(entry: object) -> str:
    config = quote(base64.b64encode(json.dumps(entry).encode()).decode())
    return f"cursor://anysphere.cursor-deeplink/mcp/install?name=memscope&config={config}"


def _json(value: object) -> list[str]:
    return json.dumps(value, indent=2).splitlines()
