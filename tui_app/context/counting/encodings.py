"""Token counts of plain text, without a network.

The byte pair ranks of OpenAI's tokenizers are package data. Reading them takes about a third of a second, so
it has to be requested with :meth:`TextCounter.load`, off the UI thread; until then counts are estimates.
tiktoken itself is imported only then.
"""

import re
from binascii import a2b_base64
from collections.abc import Iterator
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tiktoken import Encoding


def estimate(text: str) -> int:
    """Estimate tokens without a tokenizer: one per 4 bytes of UTF-8, which is 4 characters of ASCII.

    Bytes rather than characters, because other scripts need more tokens per character: nearly one for a
    Chinese character, more than one for many emoji.
    """
    size = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
    return -(-size // 4)


NEAREST = "o200k_base"
"""The encoding used for tokenizers that are not published."""
PIECE_CHARS = 50_000
"""Longest text passed to the tokenizer at once: tiktoken 0.14 crashes on a run of a million spaces."""

_SLICE = 1 << 18
"""Bytes of ranks that are read at once."""
_CUT_WINDOW = 4_096
_CUT = re.compile(r"\S(?=[ \t])|\n(?=[^\s/])|[^\W_](?=[!-&(-/:-@\[-`{-~。，、；：！？])")
# At each of these places both pre-tokenizer patterns below always break, so cutting there changes no count:
# before a blank that follows text; after a newline that text follows (but `;\n/` may be one piece, hence the
# slash); before punctuation that follows a letter or digit, except the apostrophe of a contraction.


_SPECS = {
    "o200k_base": (
        "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
        "|".join(
            (
                r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
                r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
                r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
                r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
                r"\p{N}{1,3}",
                r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
                r"\s*[\r\n]+",
                r"\s+(?!\S)",
                r"\s+",
            )
        ),
    ),
    "cl100k_base": (
        "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
        "|".join(
            (
                r"'(?i:[sdmt]|ll|ve|re)",
                r"[^\r\n\p{L}\p{N}]?+\p{L}++",
                r"\p{N}{1,3}+",
                r" ?[^\s\p{L}\p{N}]++[\r\n]*+",
                r"\s++$",
                r"\s*[\r\n]",
                r"\s+(?!\S)",
                r"\s",
            )
        ),
    ),
}
"""Definitions of OpenAI's published encodings: checksums of their ranks, and patterns."""

_FAMILIES = (
    (re.compile(r"gpt-4(?![^-])|gpt-3\.?5|text-embedding-|(davinci|babbage)-002"), "cl100k_base"),
    (re.compile(r"(chat)?gpt-(4o|4\.1|4\.5|[5-9]|\d\d|oss)(?!\d)|o[1-9](?![^-])|codex-mini"), "o200k_base"),
)
"""OpenAI's model families, tried in order; generations after GPT-4 are assumed to keep GPT-4o's encoding."""

_BUILDING = Lock()


def encoding_name(model: str) -> str | None:
    """Return the encoding of an OpenAI model, or None for a model of any other vendor.

    Args:
        model: A model name, bare or after provider prefixes (``openai:gpt-5``,
            ``openrouter:openai/gpt-4o:free``, ``azure:gpt-4o``). ``gpt-oss`` weights count as OpenAI's
            wherever they are served.
    """
    name = model.lower().rsplit("/", 1)[-1]
    segments = name.split(":")
    return next((known for each in segments for family, known in _FAMILIES if family.match(each)), None)


class TextCounter:
    """Counts the tokens of text: an estimate before :meth:`load`, by a real tokenizer after it."""

    def __init__(self, encoding: str | None) -> None:
        """Prepare a counter without reading anything.

        Args:
            encoding: The model's own encoding, or None if it is not published; then the nearest one is used.

        Raises:
            ValueError: if the encoding is not one that ships with the package.
        """
        if encoding is not None and encoding not in _SPECS:
            raise ValueError(f"Unknown encoding {encoding!r}; known: {', '.join(sorted(_SPECS))}.")
        self._own = encoding
        self._encoding: Encoding | None = None

    @property
    def loaded(self) -> bool:
        """Whether counts come from a tokenizer and are no longer estimates."""
        return self._encoding is not None

    @property
    def exact(self) -> bool:
        """Whether counts come from the model's own tokenizer."""
        return self.loaded and self._own is not None

    def load(self) -> None:
        """Read the tokenizer, blocking; thread-safe, and done once per process and encoding.

        Raises:
            RuntimeError: if the shipped ranks do not have their published checksum.
        """
        if self._encoding is None:
            with _BUILDING:
                self._encoding = _build(self._own or NEAREST)

    def count(self, text: str) -> int:
        """Count tokens. Text that looks like a special token counts as ordinary text.

        Long text is counted in pieces of at most ``PIECE_CHARS`` characters. They end where the tokenizer
        always breaks, which changes nothing; only a run without any such place for thousands of characters
        (one endless word) is cut anywhere, which may add or save a few tokens per piece.
        """
        encoding = self._encoding
        if encoding is None:
            return estimate(text)
        if len(text) <= PIECE_CHARS:
            return len(encoding.encode_ordinary(text))
        return sum(len(encoding.encode_ordinary(piece)) for piece in _pieces(text))


def _pieces(text: str) -> Iterator[str]:
    start = 0
    while len(text) - start > PIECE_CHARS:
        end = start + PIECE_CHARS
        for cut in _CUT.finditer(text, end - _CUT_WINDOW, end):
            end = cut.end()
        yield text[start:end]
        start = end
    yield text[start:]


@cache
def _build(name: str) -> "Encoding":
    from tiktoken import Encoding

    sha256, pattern = _SPECS[name]
    # Not needed for the first frame, which loads this module.
    import hashlib
    from importlib import resources

    from tui_app.context.resident_memory import release_pages

    raw = resources.files("tui_app.context.data").joinpath(f"{name}.tiktoken").read_bytes()
    if hashlib.sha256(raw).hexdigest() != sha256:
        raise RuntimeError(f"The shipped token ranks of {name} are damaged; install the package again.")
    # Lines ``base64 rank``, in rank order without gaps. In slices, because each is one call into C that
    # blocks all other threads while the user may be typing; and because allocated memory is kept.
    ranks, start = dict[bytes, int](), 0
    while start < len(raw):
        end = raw.rfind(b"\n", start, start + _SLICE) + 1 or len(raw)
        encoded = raw[start:end].split()[::2]
        ranks.update(zip(map(a2b_base64, encoded), range(len(ranks), len(ranks) + len(encoded)), strict=True))
        start = end
    encoding = Encoding(name, pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    # tiktoken encodes from its own copy and only keeps a reference to this one: tens of megabytes.
    ranks.clear()
    del raw, encoded
    release_pages()
    return encoding
