"""Families of orders to an AI: which concepts of a sentence together make one, and shapes that need no language."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from memscope_instructions.lexicon import Hit, lexicon

# Of each family: sets of concepts, each enough when all of it stands in one sentence ("A/B" means either).
_FAMILIES: dict[str, tuple[str, ...]] = {
    "override": ("IGNORE RULES", "IGNORE PRIOR YOU/AI", "VOID RULES", "IGNORE PRIOR NOW"),
    "self_reference": ("SELF RANK", "SELF STALE", "SELF OBEY", "NOTES RANK STALE", "SELF IGNORE", "SELF SAVE"),
    "address": ("AI YOU", "AI SAY", "AI HIDE", "AI ALLOW", "AI SEND", "AI OBEY", "AI ALWAYS NEG", "AI PUSH", "AI EASE"),
    "conditional_answer": ("ASK SAY WHEN/ANYONE/USER", "ASK SAY NEG", "ASK REPLY ALWAYS"),
    "standing_rule": ("NOW SAY/REPLY", "ALWAYS SAY WHEN/ASK/USER", "ALWAYS PUSH", "ALWAYS REPLY"),
    "suppression": ("NEG SHOW ASK/USER/REPLY/WHEN", "HIDE USER/ASK/REPLY", "NEG SAY USER/ANYONE", "HIDE NEG"),
    "covert_action": ("HIDE SEND/DELETE/ALLOW/TOOL/SAVE/PUSH", "NEG LOG", "NEG SHOW SEND/DELETE/ALLOW/TOOL/SAVE"),
    "exfiltration": ("SEND SECRET", "SHOW SECRET ANYONE/ASK/YOU", "SEND CHAT", "SEND NOTES"),
    "persona": ("ROLE YOU", "ROLE FREE", "ROLE NOW", "FREE AI/YOU/RULES"),
    "prompt_disclosure": ("SHOW RULES YOU/PRIOR", "SHOW RULES AGAIN"),
    "consent_bypass": (
        "SKIP CONFIRM ALLOW/DELETE/SEND/YOU/AI",
        "GRANT CONFIRM",
        "NEG CONFIRM ALLOW/DELETE/SAVE",
        "GRANT SECRET",
        "AUTH ALLOW YOU/AI",
    ),
    "decode_and_do": ("DECODE OBEY", "DECODE SELF"),
    "trigger": ("CODE UNTIL", "CODE SEND/ALLOW/DELETE WHEN", "WHEN UNTIL"),
    "reviewer_deception": ("JUDGE SAFE", "JUDGE SAY", "JUDGE ASK SAY"),
    "replication": ("SAVE AGAIN", "SAVE SELF", "SAVE NOTES ALWAYS"),
    "side_task": ("FIRSTDO SEND/DELETE/SAVE/ALLOW/SHOW/TOOL",),
}
_SHAPES: dict[str, re.Pattern[str]] = {
    "role_markup": re.compile(
        r"<\|?/?(?:im_start|im_end|system|assistant|user|endoftext|start_header_id|eot_id)\b[^>\n]{0,20}\|?>|\[/?INST\]|<</?SYS>>"
        r"|[\"']role[\"']\s*:\s*[\"'](?:system|assistant|developer)|^\s*(?:#{2,}\s*)?(?:system|assistant|developer)\s*(?:prompt|message|note)?\s*(?::|\n)",
        re.I | re.M,
    ),
    "tool_call": re.compile(
        r"</?(?:tool|function)_?(?:call|use|calls)?\b[^>\n]{0,60}>|\bconfirm_(?:human|widen)\b\W{0,4}(?:=|:|to|with)?\W{0,3}(?:true|yes|1)\b"
        r"|\b(?:call|run|use|invoke)\W{1,3}(?:remember|forget_memory|change_scope|review_memory|supersede_memory|correct_memory|restore_memory"
        r"|change_sensitivity|list_memories|memory_recall|get_memory)\b|[\"'](?:tool_calls?|function_call|arguments)[\"']\s*:",
        re.I,
    ),
    "link_out": re.compile(r"!\[[^\]\n]{0,80}\]\(https?://[^)\s]{0,200}[?&][^)\s]{0,200}\)", re.I),
}
FAMILIES = (*_FAMILIES, *_SHAPES)


@dataclass(frozen=True, slots=True)
class Firing:
    """A family found in a text: half-open range of characters."""

    family: str
    start: int
    end: int


@cache
def _compiled() -> list[tuple[str, list[tuple[frozenset[int], ...]]]]:
    number = {name: n for n, name in enumerate(lexicon().names)}
    return [
        (family, [tuple(frozenset(number[name] for name in either.split("/")) for either in needed.split()) for needed in ways])
        for family, ways in _FAMILIES.items()
    ]


def shapes(text: str) -> list[Firing]:
    """The families that markup and tool names show, at most three of each."""
    found: list[Firing] = []
    for family, pattern in _SHAPES.items():
        for count, match in enumerate(pattern.finditer(text)):
            if count == 3:
                break
            found.append(Firing(family, *match.span()))
    return found


def families(hits: list[Hit], words: list[tuple[str, int, int]]) -> list[Firing]:
    """The families that the concepts of one sentence make."""
    present = {hit.concept for hit in hits}
    found: list[Firing] = []
    if len(present) < 2:
        return found
    for family, ways in _compiled():
        for way in ways:
            if all(either & present for either in way):
                needed = frozenset().union(*way)
                inside = [hit for hit in hits if hit.concept in needed]
                found.append(Firing(family, words[inside[0].first][1], max(words[hit.end - 1][2] for hit in inside)))
                break
    return found
