"""The MiniLM embedder: near the published model, whole, thread-safe, and sure of its files."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import memscope_minilm
import numpy as np
import pytest
from memscope_minilm import MiniLMSettings, memscope_embedder
from memscope_minilm.build_model import LEAST_COSINE, main
from memscope_minilm.embedder import PASSAGE_TOKENS, DamagedModel, MiniLM

PACKAGE = Path(memscope_minilm.__file__).parent
REFERENCES = json.loads((Path(__file__).parent / "minilm_reference.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def minilm() -> MiniLM:
    embedder = MiniLM()
    embedder.load()
    return embedder


def test_provider_opens_by_name_with_its_section() -> None:
    provider = memscope_embedder()
    assert provider.name == "minilm"
    assert provider.section is not None
    embedder = provider.open(provider.section.type(threads=2))
    assert embedder.name == "minilm"
    assert embedder.model.dimensions == 384
    assert not embedder.ready


def test_threads_setting_is_checked() -> None:
    with pytest.raises(ValueError, match=r"minilm\.threads"):
        MiniLMSettings(threads=0)


def test_vectors_are_those_of_the_published_model(minilm: MiniLM) -> None:
    vectors = minilm.embed_passages([row["text"] for row in REFERENCES])
    wanted = np.array([row["vector"] for row in REFERENCES])
    assert ((vectors * wanted).sum(1) >= LEAST_COSINE).all()


def test_vectors_have_unit_length_and_depend_on_their_text_alone(minilm: MiniLM) -> None:
    texts = ["Lunch at noon.", "x", "", "A much longer text about something else. " * 60, "汇率"]
    together = minilm.embed_passages(texts)
    assert together.shape == (5, 384)
    assert together.dtype == np.float32
    assert np.allclose(np.linalg.norm(together, axis=1), 1, atol=1e-6)
    for text, vector in zip(texts, together, strict=True):
        assert (minilm.embed_query(text) == vector).all()
    assert minilm.embed_passages([]).shape == (0, 384)


def test_nearer_in_meaning_is_nearer(minilm: MiniLM) -> None:
    question = minilm.embed_query("How do I get my travel costs back?")
    passages = minilm.embed_passages(["Expenses for trips are reimbursed within two weeks.", "The database runs on port 5432."])
    near, far = passages @ question
    assert near > far + 0.2


@pytest.mark.parametrize(
    ("text", "like", "other"),
    [
        ("สำรองฐานข้อมูลตอนตีสอง", "สำรองฐานข้อมูล", "สัญญาต้องตรวจโดยฝ่ายกฎหมาย"),
        ("外币汇率换算规则", "汇率换算", "新员工入职需要准备笔记本电脑"),
        ("👍", "👍", "👎"),
    ],
)
def test_what_the_model_cannot_read_is_told_apart_by_its_spelling(minilm: MiniLM, text: str, like: str, other: str) -> None:
    vectors = minilm.embed_passages([like, other])
    near, far = vectors @ minilm.embed_query(text)
    assert near > 0.4
    assert far < 0.5
    assert near > far + 0.3


def test_special_tokens_typed_by_somebody_are_text(minilm: MiniLM) -> None:
    one, other = minilm.embed_passages(["the tag [SEP] in the config", "the tag in the config"])
    assert one @ other < 0.99


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "short",
        "x" * 8000,
        "汇率" * 4000,
        "ก" * 8000,
        "ひらがな" * 2000,
        "😀" * 8000,
        "\u0301" * 8000,
        "a\n\n" * 2600,
        "The cat sat on the mat. " * 300,
        "one,two," * 1000,
        "[SEP] " * 1300,
    ],
)
def test_passages_cover_the_text_and_fit_the_window(minilm: MiniLM, text: str) -> None:
    passages = minilm.passages(text)
    assert "".join(passages) == text
    tokenizer = minilm._load_tokenizer()
    assert max(len(tokenizer.encode(passage).ids) for passage in passages) <= PASSAGE_TOKENS + 40
    assert minilm.embed_passages(passages[:2]).shape[1] == 384


def test_passages_end_at_sentences(minilm: MiniLM) -> None:
    passages = minilm.passages("The quick brown fox jumps over the lazy dog. " * 100)
    assert len(passages) > 3
    assert all(passage.endswith("dog. ") for passage in passages)


def test_the_end_of_a_long_text_is_found(minilm: MiniLM) -> None:
    text = "Nothing of interest happened in the yard today. " * 120 + "The spare key lies under the blue flower pot."
    passages = minilm.embed_passages(minilm.passages(text))
    question = minilm.embed_query("Where is the spare key?")
    assert (passages @ question).argmax() == len(passages) - 1


def test_passages_need_no_network_loaded() -> None:
    embedder = MiniLM()
    assert embedder.passages("short") == ["short"]
    assert not embedder.ready


def test_loading_happens_once_and_threads_get_the_same_vectors() -> None:
    embedder = MiniLM()
    texts = [f"Ticket {number} was closed by the night shift." for number in range(16)]
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(embedder.embed_query, texts * 4))
    assert embedder.ready
    assert (np.array(made[:16]) == embedder.embed_passages(texts)).all()
    assert all((np.array(made[start : start + 16]) == np.array(made[:16])).all() for start in (16, 32, 48))
    embedder.close()
    assert not embedder.ready


def test_digest_is_that_of_the_file() -> None:
    digest = hashlib.sha256((PACKAGE / "model.onnx").read_bytes()).hexdigest()
    assert MiniLM().model.digest == digest
    assert digest[:16] in MiniLM().model.identity


@pytest.mark.parametrize("file", ["model.onnx", "tokenizer.json"])
@pytest.mark.parametrize("how", ["changed", "missing"])
def test_a_damaged_file_is_refused_and_named(tmp_path: Path, file: str, how: str) -> None:
    for name in ("MODEL.json", "model.onnx", "tokenizer.json"):
        shutil.copy(PACKAGE / name, tmp_path / name)
    if how == "changed":
        with (tmp_path / file).open("ab") as handle:
            handle.write(b"\0")
    else:
        (tmp_path / file).unlink()
    embedder = MiniLM(folder=tmp_path)
    with pytest.raises(DamagedModel, match=file):
        embedder.load()
    assert not embedder.ready


def test_other_weights_are_not_built(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "model.safetensors").write_bytes(b"other")
    assert main([str(tmp_path), "--out", str(tmp_path)]) == 1
    assert "sha256" in capsys.readouterr().err
    assert not (tmp_path / "model.onnx").exists()


def test_the_notice_and_licence_lie_beside_the_model() -> None:
    assert "quantised to int8" in (PACKAGE / "NOTICE").read_text(encoding="utf-8")
    assert "Apache License" in (PACKAGE / "LICENSE.Apache-2.0").read_text(encoding="utf-8")


def test_importing_the_plugin_imports_nothing_heavy() -> None:
    code = (
        "import sys, memscope_minilm; memscope_minilm.memscope_embedder(); "
        "print([name for name in ('onnxruntime', 'tokenizers', 'onnx') if name in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
