"""Sizes of the stages, as data that a policy holds. Imports nothing, so that policies are known at once."""

from dataclasses import dataclass
from string import Formatter
from typing import Literal

SMALLEST_HEAD_TAIL = 4
"""Lines that head, mark, tail and notice of a cut result take together."""
MARKER = '\n[… trimmed: {length:,} characters in all; search_history "#{key}" has all of it …]'
SLIDING_WINDOW_MARKER = "\n[… cut here; {length} characters in all]"
_FIELDS = frozenset({"length", "key"})


@dataclass(frozen=True, slots=True, kw_only=True)
class NormaliseLimits:
    """How large a tool result may be."""

    lines: int = 2_000
    bytes: int = 50 * 1024
    """Of UTF-8."""
    chars: int = 200 * 1024
    spill_chars: int = 200 * 1024
    """Characters above which nothing but a notice stays, and the text goes to a file."""
    mode: Literal["head_tail", "head"] = "head_tail"

    def __post_init__(self) -> None:
        """Check the limits.

        Raises:
            ValueError: if a limit is below 1, or too few lines are allowed for a head and a tail.
        """
        if min(self.lines, self.bytes, self.chars, self.spill_chars) < 1:
            raise ValueError("Every limit of tool output must be at least 1.")
        if self.mode == "head_tail" and self.lines < SMALLEST_HEAD_TAIL:
            raise ValueError(f"Mode head_tail needs a limit of at least {SMALLEST_HEAD_TAIL} lines.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Offload:
    """Which results are moved to a file, and what is shown of them."""

    tokens: int = 20_000
    """Largest result that stays."""
    preview_lines: int = 10

    def __post_init__(self) -> None:
        """Check the sizes.

        Raises:
            ValueError: if a size is negative.
        """
        if min(self.tokens, self.preview_lines) < 0:
            raise ValueError("Sizes of offloading must not be negative.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Archive:
    """How many tool results stay, and how the digest of the others is written."""

    cutoff: int = 10
    """Tool results that may be visible."""
    strategy: Literal["heuristic", "llm", "off"] = "heuristic"
    digest_chars: int = 800
    """Longest digest that is written without a model."""
    llm_input_chars: int = 12_000
    llm_output_chars: int = 1_200
    start: float = 0.0
    """Share of the window from which the stage runs; at 0 it runs whenever the cutoff is passed."""
    batch: float = 0.5
    """Share of the cutoff that stays: archiving comes in batches, so that prompt caches keep hitting."""

    def __post_init__(self) -> None:
        """Check the sizes.

        Raises:
            ValueError: if the cutoff is negative or a size below 1.
        """
        if self.cutoff < 0 or min(self.digest_chars, self.llm_input_chars, self.llm_output_chars) < 1:
            raise ValueError("The cutoff must not be negative, and sizes of a digest must be at least 1.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Trim:
    """How much stays of an older result, and which results are old."""

    chars: int = 2_000
    """Characters that stay; 0 trims nothing."""
    keep_messages: int | None = None
    """How many of the last messages are left alone; None leaves the present turn alone, and earlier failures
    that nothing has solved yet."""
    marker: str = MARKER
    """What is put behind the head: a template with the full length in characters and the handle's number."""
    start: float = 0.0
    """Share of the window from which the stage runs; at 0 it always does."""
    batch: int = 4
    """Results that are cut at once, so that prompt caches keep hitting; fewer where that frees much."""

    def __post_init__(self) -> None:
        """Check the sizes and the marker.

        Raises:
            ValueError: if a size is negative, or the marker is no template of length and key.
        """
        if self.chars < 0 or (self.keep_messages or 0) < 0:
            raise ValueError("Sizes of trimming must not be negative.")
        unknown = {name for _, name, _, _ in Formatter().parse(self.marker) if name is not None} - _FIELDS
        if unknown:
            raise ValueError(f"A trim marker may name length and key, not {', '.join(sorted(unknown))!r}.")
        self.marker.format(length=0, key=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pointers:
    """When file bodies leave the conversation, and what stays of them."""

    threshold: float = 0.85
    """Share of the window from which the stage runs."""
    preview_chars: int = 100
    min_chars: int = 400
    """Characters below which a body stays."""
    result_chars: int = 500
    """Characters above which the result of such a call becomes a note."""
    batch: int = 4
    """Messages rewritten at once, so that prompt caches keep hitting; fewer where that frees much."""

    def __post_init__(self) -> None:
        """Check the sizes.

        Raises:
            ValueError: if a size is negative or the threshold no share of the window.
        """
        if min(self.preview_chars, self.min_chars, self.result_chars) < 0 or not 0 < self.threshold <= 1:
            raise ValueError(
                "Sizes of pointers must not be negative, and the threshold lies between 0 and 1."
            )
