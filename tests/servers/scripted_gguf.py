"""The answers of a scripted model, its vocabulary, and the llama.cpp model file that encodes them."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import gguf
import numpy as np
from numpy.typing import NDArray

# Vocabulary of a scripted model: byte-level tokens, a few words, and the pieces of its answers.


WORDS = (
    "the", "and", "that", "this", "with", "for", "from", "you", "are", "not", "have", "file", "read", "text",
    "line", "name", "type", "string", "path", "object", "description", "properties", "parameters", "function",
    "required", "integer", "arguments", "tool", "user", "assistant", "summary", "conversation", "message",
    "content", "context", "answer", "system", "plimsoll", "number", "return", "search", "default", "title",
)  # fmt: skip
"""Words that are one token when a space precedes them."""


def split_unique(text: str, used: set[str]) -> list[str]:
    """Split a text at spaces into pieces that no other text uses; each piece is a state of the model.

    A piece that is taken already is extended by the next word, and a taken last piece is joined to the one
    before. If texts are given shortest first this always succeeds: at worst the whole text is one piece.
    """
    words = [word if index == 0 else f" {word}" for index, word in enumerate(text.split(" "))]
    pieces: list[str] = []
    current = ""
    for word in words:
        current += word
        if current and current not in used and current not in pieces:
            pieces.append(current)
            current = ""
    while current:
        current = (pieces.pop() if pieces else "") + current
        if current not in used and current not in pieces:
            pieces.append(current)
            current = ""
        elif not pieces:
            raise ValueError(f"texts must be split shortest first; {text!r} came too late")
    used.update(pieces)
    return pieces


class Vocabulary:
    """Tokens in order of their numbers; byte level, encoded as in GPT-2."""

    def __init__(self) -> None:
        self.tokens: list[str] = []
        self.types: list[int] = []
        self.merges: list[str] = []
        self._index: dict[str, int] = {}
        self._letters = _byte_letters()
        for byte in range(256):
            self._add(self._letters[byte], gguf.TokenType.NORMAL)
        for word in WORDS:
            self._learn(f" {word}")
        self.end_of_text = self.control("<|endoftext|>")
        self.control("<|im_start|>")
        self.end_of_turn = self.control("<|im_end|>")

    def control(self, text: str) -> int:
        """Add a token that is matched as a whole and never displayed."""
        return self._add(text, gguf.TokenType.CONTROL)

    def piece(self, text: str) -> int:
        """The number of the token with this text; added if new."""
        spelled = self._spell(text)
        if spelled not in self._index:
            self._add(spelled, gguf.TokenType.NORMAL)
        return self._index[spelled]

    def _learn(self, word: str) -> None:
        """Add the merges, from left to right, that make a word one token."""
        spelled = self._spell(word)
        for end in range(1, len(spelled)):
            merge = f"{spelled[:end]} {spelled[end]}"
            if merge not in self.merges:
                self.merges.append(merge)
            if spelled[: end + 1] not in self._index:
                self._add(spelled[: end + 1], gguf.TokenType.NORMAL)

    def _spell(self, text: str) -> str:
        return "".join(self._letters[byte] for byte in text.encode())

    def _add(self, text: str, kind: gguf.TokenType) -> int:
        if text in self._index:
            raise ValueError(f"the vocabulary holds {text!r} twice")
        self._index[text] = len(self.tokens)
        self.tokens.append(text)
        self.types.append(int(kind))
        return self._index[text]


def _byte_letters() -> list[str]:
    """The printable letter that stands for each byte in a byte-level vocabulary."""
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = iter(range(0x100, 0x200))
    return [chr(byte) if byte in printable else chr(next(others)) for byte in range(256)]


# A scripted model's keywords, the steps of each answer, and the chat template that selects an answer.


@dataclass(frozen=True)
class Call:
    """One tool call the model makes."""

    tool: str
    args: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Calls:
    """A step with tool calls."""

    calls: tuple[Call, ...]
    text: str = ""


Step = str | Calls
Script = Mapping[str, Sequence[Step]]


def spoken(step: Step) -> str:
    """The text the model writes for a step, with tool calls in the tags that the template defines."""
    if isinstance(step, str):
        return step
    tags = [
        "<tool_call>\n" + json.dumps({"name": call.tool, "arguments": dict(call.args)}) + "\n</tool_call>"
        for call in step.calls
    ]
    return "\n".join([step.text, *tags] if step.text else tags)


def sorted_script(script: Script) -> list[tuple[str, tuple[str, ...]]]:
    """A script as plain values. Order matters: the first keyword that occurs in the prompt wins."""
    return [(keyword, tuple(spoken(step) for step in steps)) for keyword, steps in script.items()]


TEMPLATE = """\
{%- set ns = namespace(last='', results=0, key=@DEFAULT_KEY@, steps=@DEFAULT_STEPS@) -%}
{%- if tools -%}
{{- '<|im_start|>system\\nTools you may call, one JSON object a line:\\n<tools>' -}}
{%- for tool in tools -%}{{- '\\n' -}}{{- tool | tojson -}}{%- endfor -%}
{{- '\\n</tools>\\nA call looks like this:\\n<tool_call>\\n' -}}
{{- '{"name": <function-name>, "arguments": <args-json-object>}\\n</tool_call><|im_end|>\\n' -}}
{%- endif -%}
{%- for message in messages -%}
{%- if message.role == 'assistant' -%}
{{- '<|im_start|>assistant\\n' -}}{%- if message.content -%}{{- message.content -}}{%- endif -%}
{%- if message.tool_calls -%}{%- for call in message.tool_calls -%}
{{- '\\n<tool_call>\\n{"name": "' -}}{{- call.function.name -}}{{- '", "arguments": ' -}}
{%- if call.function.arguments is string -%}{{- call.function.arguments -}}
{%- else -%}{{- call.function.arguments | tojson -}}{%- endif -%}
{{- '}\\n</tool_call>' -}}
{%- endfor -%}{%- endif -%}
{{- '<|im_end|>\\n' -}}
{%- elif message.role == 'tool' -%}
{%- set ns.results = ns.results + 1 -%}
{{- '<|im_start|>user\\n<tool_response>\\n' -}}{{- message.content -}}
{{- '\\n</tool_response><|im_end|>\\n' -}}
{%- else -%}
{%- if message.role == 'user' -%}{%- set ns.last = message.content -%}{%- set ns.results = 0 -%}{%- endif -%}
{{- '<|im_start|>' -}}{{- message.role -}}{{- '\\n' -}}{{- message.content -}}{{- '<|im_end|>\\n' -}}
{%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}
@CHOICE@
{%- set step = ns.results if ns.results < ns.steps else ns.steps - 1 -%}
{{- '<|im_start|>assistant\\n<|k' ~ ns.key ~ 's' ~ step ~ '|>' -}}
{%- endif -%}
"""


def chat_template(script: Script) -> str:
    """The template that renders messages as a prompt and selects the model's answer."""
    keywords = list(script)
    choice = ""
    for index, keyword in enumerate(keywords):
        if keyword:
            word = "if" if not choice else "elif"
            choice += f"{{%- {word} {json.dumps(keyword)} in ns.last -%}}"
            choice += f"{{%- set ns.key = {index} -%}}{{%- set ns.steps = {len(script[keyword])} -%}}"
    default = keywords.index("") if "" in script else 0
    return (
        TEMPLATE.replace("@CHOICE@", choice + "{%- endif -%}" if choice else "")
        .replace("@DEFAULT_KEY@", str(default))
        .replace("@DEFAULT_STEPS@", str(len(script[keywords[default]])))
    )


# Writes a llama.cpp model file with scripted output: no trained weights, no download.


HEAD = 64
"""Size of an attention head; the model's width is a multiple of it."""
MARGIN = 30.0
"""Margin of the scripted token's logit over all others: at temperature 1 no other is ever sampled."""


def _link(script: Script, vocabulary: Vocabulary) -> dict[int, int]:
    """Add every answer to the vocabulary, and return the table of successor tokens."""
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
    """The embedding and output matrices in which each token predicts its successor with ``MARGIN``.

    Random codes are only nearly orthogonal, so the result is checked and the width doubled until it is
    correct.
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
    """The model file of a script, written once per folder."""
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
    # The attention contributes nothing; one narrow head makes long prompts cheap.
    writer.add_head_count(1)
    writer.add_head_count_kv(1)
    writer.add_key_length(HEAD)
    writer.add_value_length(HEAD)
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
        "attn_q": (HEAD, width), "attn_k": (HEAD, width), "attn_v": (HEAD, width),
        "attn_output": (width, HEAD), "ffn_gate": (HEAD, width), "ffn_up": (HEAD, width),
        "ffn_down": (width, HEAD),
    }  # fmt: skip
    writer.add_tensor("token_embd.weight", embedding)
    writer.add_tensor("output_norm.weight", ones)
    writer.add_tensor("output.weight", output)
    for name in ("attn_norm", "ffn_norm"):
        writer.add_tensor(f"blk.0.{name}.weight", ones)
    for name, shape in shapes.items():
        writer.add_tensor(f"blk.0.{name}.weight", np.zeros(shape, np.float32))
