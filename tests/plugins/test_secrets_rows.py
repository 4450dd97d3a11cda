"""The rows of ten authors: what share of their labels is found, and how much beside."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from memscope_secrets import memscope_detect_secrets
from memscope_secrets.candidates import CREDENTIALS

DATA = Path(__file__).parents[1] / "data"


def _counts(authors: str) -> tuple[Counter[str], Counter[str]]:
    """Hits, false alarms and misses of (row, type) pairs: of credentials, and of everything else."""
    credentials, others = Counter[str](), Counter[str]()
    for author in authors:
        for line in (DATA / f"sensitivity_{author}.jsonl").read_text("utf-8").splitlines():
            row = json.loads(line)
            wanted, got = set(row["secrets"]), {finding.type for finding in memscope_detect_secrets(row["text"])}
            for type_ in wanted | got:
                counts = credentials if type_ in CREDENTIALS else others
                counts["hit" if type_ in wanted & got else "missed" if type_ in wanted else "extra"] += 1
    return credentials, others


def _f1(counts: Counter[str]) -> float:
    return 2 * counts["hit"] / (2 * counts["hit"] + counts["missed"] + counts["extra"])


@pytest.mark.parametrize("authors", ["abcdh", "efgij"])
def test_reaches_the_figures(authors: str) -> None:
    """Micro F1 over all types of credentials, and of identifiers with health and pay."""
    credentials, others = _counts(authors)
    assert _f1(credentials) >= 0.98
    assert _f1(others) >= 0.96
