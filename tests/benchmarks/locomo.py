"""Recall on real conversations: LoCoMo imported as memories, its questions asked through the `recall` tool over MCP.

Each conversation is a team of its two speakers, each turn a memory of its speaker at its time, each session a run. The
question is asked by a speaker, who can read that chat alone. Prints recall@5, recall@10, MRR@10 and nDCG@10 over categories 1 to 4.

    python tests/benchmarks/locomo.py --data DIR            # DIR holds locomo10.json
    python tests/benchmarks/locomo.py --data DIR --guard    # with the guarding plugins, a guard team of everybody

Without `--guard` the guarding plugins are blocked: what is measured is recall. The call limit is raised.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import anyio
from running import command, folder, serving, session, variables

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}


def moment(text: str) -> datetime:
    """When a session was, as in `1:56 pm on 8 May, 2023`."""
    return datetime.strptime(text, "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)


def turns(chat: dict[str, Any]) -> Iterator[tuple[str, datetime, dict[str, Any]]]:
    """(session, time, turn) in order."""
    for name in sorted((key for key in chat if re.fullmatch(r"session_\d+", key)), key=lambda key: int(key.split("_")[1])):
        start = moment(chat[f"{name}_date_time"])
        for position, turn in enumerate(chat[name]):
            yield name, start + timedelta(seconds=position), turn


def email(chat: int, speaker: str) -> str:
    """A speaker's address; the same name in another chat is somebody else."""
    return f"{speaker.lower().replace(' ', '.')}.{chat}@locomo.example"


def organization(chats: list[dict[str, Any]], guard: bool) -> str:
    """The organization file: a team for each chat, its two speakers in it."""
    lines = ["[organization]", 'slug = "locomo"', 'name = "LoCoMo"']
    everybody: list[str] = []
    for number, chat in enumerate(chats):
        speakers = [chat["conversation"]["speaker_a"], chat["conversation"]["speaker_b"]]
        members = [email(number, speaker) for speaker in speakers]
        everybody += members
        for speaker, address in zip(speakers, members, strict=True):
            lines += ["[[people]]", f'email = "{address}"', f"name = {json.dumps(speaker)}"]
        lines += ["[[teams]]", f'slug = "chat-{number}"', f"members = {json.dumps(members)}"]
    if guard:
        lines += ["[[teams]]", 'slug = "everybody"', f"members = {json.dumps(everybody)}"]
        for topic in ("hr", "legal", "finance"):
            lines += ["[[topics]]", f'key = "{topic}"', 'teams = ["everybody"]']
    return "\n".join(lines) + "\n"


def memories(chats: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """One line for each turn. What a shared picture shows is part of what was said."""
    for number, chat in enumerate(chats):
        for name, at, turn in turns(chat["conversation"]):
            picture = f" [shares {turn['blip_caption']}]" if turn.get("blip_caption") else ""
            yield {
                "id": f"{number}/{turn['dia_id']}",
                "content": turn["text"] + picture or "...",
                "author": email(number, turn["speaker"]),
                "created_at": at.isoformat(),
                "team": f"chat-{number}",
                "run_id": f"chat-{number}/{name}",
            }


def questions(chats: list[dict[str, Any]]) -> Iterator[tuple[int, str, int, set[str]]]:
    """(chat, question, category, evidence turns) of those with usable evidence."""
    for number, chat in enumerate(chats):
        known = {turn["dia_id"] for _, _, turn in turns(chat["conversation"])}
        for item in chat["qa"]:
            evidence = {part for text in item.get("evidence", []) for part in re.findall(r"D\d+:\d+", text)} & known
            if item["category"] in CATEGORIES and evidence:
                yield number, item["question"], item["category"], evidence


async def ask(url: str, tokens: dict[str, str], chats: list[dict[str, Any]], said: dict[tuple[int, str, str], set[str]]) -> None:
    """Ask every question and print the figures."""
    figures: dict[int, list[tuple[float, float, float, float]]] = defaultdict(list)
    by_chat: dict[int, list[tuple[str, int, set[str]]]] = defaultdict(list)
    for number, question, category, evidence in questions(chats):
        by_chat[number].append((question, category, evidence))
    took: list[float] = []
    for number, asked in by_chat.items():
        async with session(url, tokens[email(number, chats[number]["conversation"]["speaker_a"])]) as client:
            for question, category, evidence in asked:
                started = time.perf_counter()
                answer = await client.call_tool("recall", {"query": question, "limit": 10})
                took.append(time.perf_counter() - started)
                assert answer.structured_content is not None
                assert not answer.is_error, answer.structured_content
                found = [
                    said.get((number, result["content"], result["created_at"]), set()) & evidence
                    for result in answer.structured_content["results"]
                ]
                figures[category].append(measure(found, len(evidence)))
    everything = [figure for some in figures.values() for figure in some]
    print(f"{'category':<14}{'questions':>10}{'R@5':>8}{'R@10':>8}{'MRR':>8}{'nDCG':>8}")
    for category, name in CATEGORIES.items():
        print_row(name, figures[category])
    print_row("all", everything)
    took.sort()
    print(f"recall over MCP: p50 {took[len(took) // 2] * 1000:.1f} ms, p95 {took[len(took) * 95 // 100] * 1000:.1f} ms, one client")


def measure(found: list[set[str]], evidence: int) -> tuple[float, float, float, float]:
    """Recall at 5 and 10, reciprocal rank and nDCG at 10 of one answer."""
    seen: set[str] = set()
    gains = []
    for turn in found:
        gains.append(1.0 if turn - seen else 0.0)
        seen |= turn
    at5 = len(set().union(*found[:5])) / evidence
    at10 = len(set().union(*found[:10])) / evidence
    first = next((1 / (rank + 1) for rank, gain in enumerate(gains[:10]) if gain), 0.0)
    ideal = sum(1 / math.log2(rank + 2) for rank in range(min(evidence, 10)))
    return at5, at10, first, sum(gain / math.log2(rank + 2) for rank, gain in enumerate(gains[:10])) / ideal


def print_row(name: str, rows: list[tuple[float, float, float, float]]) -> None:
    """Means over questions."""
    means = [sum(row[i] for row in rows) / len(rows) for i in range(4)]
    print(f"{name:<14}{len(rows):>10}" + "".join(f"{mean:>8.3f}" for mean in means))


def main() -> None:
    """Import, serve, ask."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the folder with locomo10.json")
    parser.add_argument("--guard", action="store_true", help="keep the guarding plugins on")
    chosen = parser.parse_args()
    chats = json.loads((chosen.data / "locomo10.json").read_text())
    with folder() as data_dir:
        environ = variables(data_dir, None if chosen.guard else {"MEMSCOPE_PLUGINS_BLOCKED": "secrets,spacy,instructions"})
        data_dir.mkdir(mode=0o711)
        (data_dir / "locomo.toml").write_text(organization(chats, chosen.guard))
        command(environ, "org", "apply", str(data_dir / "locomo.toml"))
        lines = list(memories(chats))
        (data_dir / "locomo.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        started = time.perf_counter()
        command(environ, "import", str(data_dir / "locomo.jsonl"), "--org", "locomo")
        print(f"imported {len(lines)} turns in {time.perf_counter() - started:.0f} s", file=sys.stderr)
        said: dict[tuple[int, str, str], set[str]] = defaultdict(set)
        for line in lines:
            number, turn = line["id"].split("/", 1)
            said[int(number), line["content"], line["created_at"].replace("+00:00", "Z")].add(turn)
        addresses = sorted({line["author"] for line in lines})
        listed = command(environ, "token", "create", *addresses, "--org", "locomo", "--client", "benchmark")
        tokens = dict(row.split("\t") for row in listed.splitlines())
        with serving(environ) as url:
            anyio.run(ask, url, tokens, chats, said)


if __name__ == "__main__":
    main()
