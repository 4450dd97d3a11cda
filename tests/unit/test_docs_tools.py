"""docs/tools.md is what the declarations say."""

from __future__ import annotations

from pathlib import Path

from memscope.mcp_server.reference import markdown


def test_the_page_of_tools_is_made_from_their_declarations() -> None:
    page = Path(__file__).parents[2] / "docs" / "tools.md"
    assert page.read_text() == markdown(), "run: python -m memscope.mcp_server.reference > docs/tools.md"
