"""Build the model files of this package from the published weights: `python -m memscope_minilm.build_model MODEL_DIR`.

MODEL_DIR is a copy of the repository sentence-transformers/all-MiniLM-L6-v2 (`model.safetensors`, `tokenizer.json`,
`config.json`), for instance unpacked from a package that carries it. Weights of another digest are refused. Writes
`model.onnx` (int8), `tokenizer.json` and `MODEL.json` into this package, or into `--out DIR`; the same versions of onnx
and onnxruntime write the same bytes. `--references FILE` also writes the vectors that the tests compare with.

Needs onnx and safetensors beside what the package needs at run time.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from onnx import ModelProto

Array = npt.NDArray[np.float32]

#: With the digest of `model.onnx` the identity of a vector: give another name when anything else that makes vectors changes.
NAME = "all-MiniLM-L6-v2-int8"
MAX_TOKENS = 256
LONGEST_WORD = 100
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"

#: The rebuilt model must stay this near (cosine) to the published one on each of `SAMPLES`; texts of one word are less near (.95 to .98).
LEAST_COSINE = 0.985

SAMPLES = (
    "We moved the nightly backup to 02:30 because the export job was still running.",
    "Who decided that invoices above 5,000 euros need a second signature?",
    "def parse(line: str) -> dict[str, int]: ...",
    "Caroline (8 May 2023): I went to a support group yesterday and it was so powerful.",
    "Die Besprechung findet am Donnerstag um zehn Uhr statt.",
    "A naïve café résumé, déjà vu.",
    "Lunch at noon on Friday?",
    "The release train leaves every second Tuesday; hotfixes go out at once, and the person on call writes the note "
    "that goes with them, names the ticket, and says which customers have to be told before the end of the day.",
)


def read_weights(path: Path) -> dict[str, Array]:
    """The published weights as float32, by their published names. Raises ValueError when they are other weights."""
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != WEIGHTS_SHA256:
        raise ValueError(f"{path} has sha256 {found}, expected {WEIGHTS_SHA256}")

    from safetensors.numpy import load_file

    return {name: value.astype(np.float32) for name, value in load_file(path).items() if value.dtype.kind == "f"}


def reference_vector(weights: dict[str, Array], config: dict[str, Any], token_ids: list[int]) -> Array:
    """The unit vector of one text by the plain float32 network, written for reading: the measure of the built model."""
    heads, eps = config["num_attention_heads"], config["layer_norm_eps"]

    def linear(x: Array, name: str) -> Array:
        return np.asarray(x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"], np.float32)

    def norm(x: Array, name: str) -> Array:
        centred = x - x.mean(-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + eps)
        return np.asarray(scaled * weights[f"{name}.weight"] + weights[f"{name}.bias"], np.float32)

    def split(x: Array) -> Array:
        return x.reshape(len(token_ids), heads, -1).transpose(1, 0, 2)

    erf = np.vectorize(math.erf, otypes=[np.float32])
    words = weights["embeddings.word_embeddings.weight"][token_ids]
    places = weights["embeddings.position_embeddings.weight"][: len(token_ids)]
    x = norm(words + places + weights["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
    for layer in (f"encoder.layer.{i}" for i in range(config["num_hidden_layers"])):
        query, key, value = (split(linear(x, f"{layer}.attention.self.{part}")) for part in ("query", "key", "value"))
        looks = query @ key.transpose(0, 2, 1) / math.sqrt(query.shape[-1])
        looks = np.exp(looks - looks.max(-1, keepdims=True))
        seen = (looks / looks.sum(-1, keepdims=True)) @ value
        seen = linear(seen.transpose(1, 0, 2).reshape(x.shape), f"{layer}.attention.output.dense")
        x = norm(x + seen, f"{layer}.attention.output.LayerNorm")
        wide = linear(x, f"{layer}.intermediate.dense")
        wide = wide * 0.5 * (1 + erf(wide / math.sqrt(2)))
        x = norm(x + linear(wide, f"{layer}.output.dense"), f"{layer}.output.LayerNorm")
    mean = x.mean(0)
    unit: Array = mean / np.linalg.norm(mean)
    return unit


class Graph:
    """Collects the nodes and weights of an ONNX graph; each method returns the name of what it made."""

    def __init__(self) -> None:
        """Start with nothing."""
        self.nodes: list[Any] = []
        self.weights: list[Any] = []

    def weight(self, name: str, value: npt.NDArray[Any]) -> str:
        """Add a constant."""
        from onnx import numpy_helper

        self.weights.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def add(self, operator: str, inputs: list[str], output: str, fused: bool = False, **attributes: Any) -> str:
        """Add a node; `fused` operators are onnxruntime's own."""
        from onnx import helper

        domain = "com.microsoft" if fused else ""
        self.nodes.append(helper.make_node(operator, inputs, output.split(), name=f"to_{output}", domain=domain, **attributes))
        return output


def build_graph(weights: dict[str, Array], config: dict[str, Any]) -> ModelProto:
    """The float32 network: `input_ids` and `attention_mask` (int64, batch by tokens) to `embedding` (unit length)."""
    from onnx import TensorProto, helper

    g, eps = Graph(), config["layer_norm_eps"]
    start, axis0, axis1, axis2 = (
        g.weight(name, np.array([value], np.int64)) for name, value in (("start", 0), ("axis_0", 0), ("axis_1", 1), ("axis_2", 2))
    )
    g.add("Shape", ["input_ids"], "tokens", start=1, end=2)
    places = weights["embeddings.position_embeddings.weight"] + weights["embeddings.token_type_embeddings.weight"][0]
    g.add("Slice", [g.weight("all_places", places[:MAX_TOKENS]), start, "tokens", axis0], "places")
    g.add("Gather", [g.weight("all_words", weights["embeddings.word_embeddings.weight"]), "input_ids"], "words")
    g.add("Add", ["words", "places"], "words_in_place")
    first_norm = [g.weight(f"first_norm_{part}", weights[f"embeddings.LayerNorm.{part}"]) for part in ("weight", "bias")]
    x = g.add("LayerNormalization", ["words_in_place", *first_norm], "x_0", axis=-1, epsilon=eps)
    g.add("Cast", ["attention_mask"], "mask", to=TensorProto.INT32)

    for i in range(config["num_hidden_layers"]):
        layer = f"encoder.layer.{i}"

        def matrix(name: str, parts: list[str], layer: str = layer, i: int = i) -> str:
            joined = np.concatenate([weights[f"{layer}.{part}.weight"].T for part in parts], axis=1)
            return g.weight(f"{name}_weight_{i}", joined)

        def vector(name: str, parts: list[str], layer: str = layer, i: int = i, kind: str = "bias") -> str:
            return g.weight(f"{name}_{kind}_{i}", np.concatenate([weights[f"{layer}.{part}.{kind}"] for part in parts]))

        def norm(name: str, part: str) -> list[str]:
            return [vector(name, [part], kind="weight"), vector(name, [part])]

        attention = [f"attention.self.{part}" for part in ("query", "key", "value")]
        g.add("MatMul", [x, matrix("qkv", attention)], f"qkv_bare_{i}")
        g.add("Add", [f"qkv_bare_{i}", vector("qkv", attention)], f"qkv_{i}")
        query, key, value = g.add("Split", [f"qkv_{i}"], f"query_{i} key_{i} value_{i}", axis=-1, num_outputs=3).split()
        heads = config["num_attention_heads"]
        g.add("MultiHeadAttention", [query, key, value, "", "mask"], f"seen_{i}", fused=True, num_heads=heads)
        g.add("MatMul", [f"seen_{i}", matrix("seen", ["attention.output.dense"])], f"seen_out_{i}")
        after = [*norm("seen_norm", "attention.output.LayerNorm"), vector("seen", ["attention.output.dense"])]
        g.add("SkipLayerNormalization", [f"seen_out_{i}", x, *after], f"y_{i}", fused=True, epsilon=eps)
        g.add("MatMul", [f"y_{i}", matrix("wide", ["intermediate.dense"])], f"wide_bare_{i}")
        g.add("BiasGelu", [f"wide_bare_{i}", vector("wide", ["intermediate.dense"])], f"wide_{i}", fused=True)
        g.add("MatMul", [f"wide_{i}", matrix("narrow", ["output.dense"])], f"narrow_{i}")
        after = [*norm("narrow_norm", "output.LayerNorm"), vector("narrow", ["output.dense"])]
        x = g.add("SkipLayerNormalization", [f"narrow_{i}", f"y_{i}", *after], f"x_{i + 1}", fused=True, epsilon=eps)

    g.add("Cast", ["attention_mask"], "present", to=TensorProto.FLOAT)
    g.add("Unsqueeze", ["present", axis2], "present_column")
    g.add("Mul", [x, "present_column"], "x_present")
    g.add("ReduceSum", ["x_present", axis1], "total", keepdims=0)
    g.add("ReduceSum", ["present", axis1], "count", keepdims=1)
    g.add("Div", ["total", "count"], "mean")
    g.add("LpNormalization", ["mean"], "embedding", axis=-1, p=2)

    size = config["hidden_size"]
    graph = helper.make_graph(
        g.nodes,
        "all_minilm_l6_v2",
        [helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "tokens"]) for name in ("input_ids", "attention_mask")],
        [helper.make_tensor_value_info("embedding", TensorProto.FLOAT, ["batch", size])],
        g.weights,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)], ir_version=9)


def quantise(source: Path, target: Path) -> None:
    """Matrices and the word table to int8, one scale a channel, in the range that older AVX2 CPUs add up without overflow."""
    from onnx import TensorProto
    from onnxruntime.quantization import QuantType, quantize_dynamic

    quantize_dynamic(
        source,
        target,
        weight_type=QuantType.QInt8,
        per_channel=True,
        reduce_range=True,
        op_types_to_quantize=["MatMul", "Gather"],
        extra_options={"DefaultTensorType": TensorProto.FLOAT},
    )


def build_tokenizer(source: Path, target: Path) -> None:
    """The published tokenizer without padding and truncation; longer words are cut instead of becoming unknown."""
    from tokenizers import Regex, Tokenizer
    from tokenizers.pre_tokenizers import BertPreTokenizer, Sequence, Split

    found = hashlib.sha256(source.read_bytes()).hexdigest()
    if found != TOKENIZER_SHA256:
        raise ValueError(f"{source} has sha256 {found}, expected {TOKENIZER_SHA256}")
    tokenizer = Tokenizer.from_file(str(source))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    tokenizer.pre_tokenizer = Sequence([BertPreTokenizer(), Split(Regex(f".{{1,{LONGEST_WORD}}}"), "isolated")])
    tokenizer.save(str(target), pretty=False)


def build(model_dir: Path, out: Path, references: Path | None) -> None:
    """Write the model files into `out`. Raises ValueError for other sources, or when the result is too far from them."""
    config: dict[str, Any] = json.loads((model_dir / "config.json").read_text(encoding="utf-8"))
    weights = read_weights(model_dir / "model.safetensors")

    import onnx
    import onnxruntime
    from tokenizers import Tokenizer

    build_tokenizer(model_dir / "tokenizer.json", out / "tokenizer.json")
    with tempfile.TemporaryDirectory() as scratch:
        full = Path(scratch) / "full.onnx"
        onnx.save(build_graph(weights, config), str(full))
        quantise(full, out / "model.onnx")

    tokenizer = Tokenizer.from_file(str(out / "tokenizer.json"))
    session = onnxruntime.InferenceSession(str(out / "model.onnx"), providers=["CPUExecutionProvider"])
    wanted, nearness = [], []
    for text in SAMPLES:
        ids = tokenizer.encode(text).ids
        wanted.append(reference_vector(weights, config, ids))
        row = np.array([ids], np.int64)
        made = session.run(None, {"input_ids": row, "attention_mask": np.ones_like(row)})[0][0]
        nearness.append(float(made @ wanted[-1]))
    print("cosine to the published model:", " ".join(f"{value:.4f}" for value in nearness))
    if min(nearness) < LEAST_COSINE:
        raise ValueError(f"the built model is too far from the published one: cosine {min(nearness):.4f} < {LEAST_COSINE}")

    card = {
        "name": NAME,
        "digest": hashlib.sha256((out / "model.onnx").read_bytes()).hexdigest(),
        "tokenizer_digest": hashlib.sha256((out / "tokenizer.json").read_bytes()).hexdigest(),
        "dimensions": config["hidden_size"],
        "max_tokens": MAX_TOKENS,
        "languages": ["en"],
        "license": "Apache-2.0",
        "source": {
            "repository": "sentence-transformers/all-MiniLM-L6-v2",
            "revision": "1110a243",
            "model.safetensors": WEIGHTS_SHA256,
            "tokenizer.json": TOKENIZER_SHA256,
        },
        "built": "graph rebuilt with pooling and normalisation inside; int8, dynamic, per channel, reduced range",
        "built_with": {"onnx": onnx.__version__, "onnxruntime": onnxruntime.__version__},
        "least_cosine_to_source": round(min(nearness), 4),
    }
    (out / "MODEL.json").write_text(json.dumps(card, indent=2) + "\n", encoding="utf-8")
    if references is not None:
        rows = [{"text": text, "vector": [round(float(v), 5) for v in row]} for text, row in zip(SAMPLES, wanted, strict=True)]
        lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
        references.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


def main(arguments: list[str] | None = None) -> int:
    """Run from the command line; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m memscope_minilm.build_model", description=(__doc__ or "").split("\n\n")[1])
    parser.add_argument("model_dir", type=Path, metavar="MODEL_DIR")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent, metavar="DIR")
    parser.add_argument("--references", type=Path, metavar="FILE")
    options = parser.parse_args(arguments)
    try:
        build(options.model_dir, options.out, options.references)
    except (OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
