"""Writes a model file for llama.cpp whose every word is scripted: no trained weights, nothing fetched.

The file is a genuine ``llama`` model of one block whose attention and feed-forward add nothing. Each token
of the vocabulary owns a random code of plus and minus ones, and the output matrix is a table "after this
token comes that one" written in those codes. So all that surrounds the words (HTTP, tokenizer, sampling,
grammar, tool-call parsing, usage, the context limit) is llama.cpp's own; only *what* is said is ours.

A script maps keywords to the steps of an answer. The chat template picks the first keyword that occurs in
the last user message (``""`` matches everything and belongs last; the phrase of a summary prompt belongs
first, because such a prompt quotes what people wrote); the step is the number of tool results since that
message, the last step repeating. A step is text, or ``Calls`` with optional text before them.

Facts worth knowing in a test:

* The tokenizer knows a few dozen words and spells everything else byte by byte, two to four times as many
  tokens as a trained one would use.
* A spoken piece is a single token however long it is, but counts its full spelling when it comes back in
  the next prompt: reported output tokens are far below what the answer adds to the context.
"""

import hashlib
from collections.abc import Mapping
from pathlib import Path

import gguf
import numpy as np
from numpy.typing import NDArray

from tests.servers.script import Script, chat_template, sorted_script, spoken
from tests.servers.vocabulary import Vocabulary, split_unique

HEAD = 64
"""Size of an attention head; the width is a multiple of it."""
MARGIN = 30.0
"""By how much the scripted next token leads: at temperature 1 nothing else is ever sampled."""


def _link(script: Script, vocabulary: Vocabulary) -> dict[int, int]:
    """Add every answer to the vocabulary and return the table of next tokens."""
    following: dict[int, int] = {}
    first_of: dict[str, int] = {}
    used: set[str] = set()
    texts = {spoken(step) for steps in script.values() for step in steps}
    for text in sorted(texts, key=lambda text: (len(text), text)):
        chain = [vocabulary.piece(piece) for piece in split_unique(text, used)]
        following.update(zip(chain, [*chain[1:], vocabulary.end_of_turn], strict=True))
        first_of[text] = chain[0]
    for index, steps in enumerate(script.values()):
        for number, step in enumerate(steps):
            following[vocabulary.control(f"<|k{index}s{number}|>")] = first_of[spoken(step)]
    return following


def _table(following: Mapping[int, int], size: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Embedding and output matrix in which each scripted token leads to its successor by ``MARGIN``.

    Codes are only nearly orthogonal, so the result is checked, and the width doubled until it holds.
    """
    width = 4 * HEAD
    before, after = list(following), list(following.values())
    while width <= 4096:
        codes = np.random.default_rng(width).choice(np.array([-1, 1], np.float32), size=(size, width))
        output = np.zeros((size, width), np.float32)
        np.add.at(output, after, codes[before])
        scores = codes[before] @ output.T
        rows = np.arange(len(before))
        wanted = scores[rows, after].copy()
        scores[rows, after] = -np.inf
        lead = float((wanted - scores.max(axis=1)).min())
        if lead > 0:
            return codes, output * np.float32(max(1.0, MARGIN / lead))
        width *= 2
    raise ValueError("the script is too large for a tiny model: fewer or shorter answers")


def write_gguf(script: Script, path: Path, *, trained_context: int = 131_072) -> Path:
    """Write the model file of a script.

    Raises:
        ValueError: for a script without steps, or one too large for a tiny model.
    """
    if (
        not script
        or not all(script.values())
        or not all(spoken(s) for steps in script.values() for s in steps)
    ):
        raise ValueError("a script needs at least one keyword, and each keyword a step that says something")
    vocabulary = Vocabulary()
    following = _link(script, vocabulary)
    embedding, output = _table(following, len(vocabulary.tokens))
    writer = gguf.GGUFWriter(str(path), "llama")
    _describe(writer, embedding.shape[1], trained_context)
    _add_tokenizer(writer, vocabulary)
    writer.add_chat_template(chat_template(script))
    _add_tensors(writer, embedding, output)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def cached_gguf(script: Script, folder: Path) -> Path:
    """The model file of a script, written once into a folder."""
    name = hashlib.sha256(repr(sorted_script(script)).encode()).hexdigest()[:16]
    path = folder / f"scripted-{name}.gguf"
    return path if path.exists() else write_gguf(script, path)


def _describe(writer: gguf.GGUFWriter, width: int, trained_context: int) -> None:
    writer.add_name("scripted")
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    writer.add_context_length(trained_context)
    writer.add_embedding_length(width)
    writer.add_feed_forward_length(HEAD)
    writer.add_block_count(1)
    writer.add_head_count(width // HEAD)
    # One shared key/value head keeps the cache of a long context small.
    writer.add_head_count_kv(1)
    writer.add_rope_dimension_count(HEAD)
    writer.add_layer_norm_rms_eps(1e-5)


def _add_tokenizer(writer: gguf.GGUFWriter, vocabulary: Vocabulary) -> None:
    writer.add_vocab_size(len(vocabulary.tokens))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(vocabulary.tokens)
    writer.add_token_types(vocabulary.types)
    writer.add_token_merges(vocabulary.merges)
    writer.add_bos_token_id(vocabulary.end_of_text)
    writer.add_add_bos_token(False)
    writer.add_eos_token_id(vocabulary.end_of_turn)
    writer.add_pad_token_id(vocabulary.end_of_text)


def _add_tensors(
    writer: gguf.GGUFWriter, embedding: NDArray[np.float32], output: NDArray[np.float32]
) -> None:
    width = embedding.shape[1]
    ones = np.ones(width, np.float32)
    shapes = {
        "attn_q": (width, width), "attn_k": (HEAD, width), "attn_v": (HEAD, width),
        "attn_output": (width, width), "ffn_gate": (HEAD, width), "ffn_up": (HEAD, width),
        "ffn_down": (width, HEAD),
    }  # fmt: skip
    writer.add_tensor("token_embd.weight", embedding)
    writer.add_tensor("output_norm.weight", ones)
    writer.add_tensor("output.weight", output)
    for name in ("attn_norm", "ffn_norm"):
        writer.add_tensor(f"blk.0.{name}.weight", ones)
    for name, shape in shapes.items():
        writer.add_tensor(f"blk.0.{name}.weight", np.zeros(shape, np.float32))
