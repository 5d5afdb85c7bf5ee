"""What a command prints: kept in bounded memory, handed on while it comes, readable in the end."""

import codecs
import re
from collections import deque
from dataclasses import dataclass, field

HEAD_CHARS = 400_000
"""Characters kept of the beginning of an output."""
TAIL_CHARS = 400_000
"""Characters kept of its end."""
_ESCAPES = re.compile(
    r"\x1b\][^\x07\x1b]{0,4096}(?:\x07|\x1b\\)?|\x1b\[[0-?]*[ -/]*[@-~]?|\x1b[PX^_][^\x1b]{0,4096}(?:\x1b\\)?"
    r"|\x1b[ -/]*[0-~]?"
)


@dataclass(slots=True)
class Output:
    """Collects bytes as text; of very much of it the middle is dropped and counted."""

    chars: int = 0
    """Characters that came so far."""
    _decoder: codecs.IncrementalDecoder = field(
        default_factory=lambda: codecs.getincrementaldecoder("utf-8")("replace")
    )
    _head: list[str] = field(default_factory=list)
    _head_size: int = 0
    _tail: deque[str] = field(default_factory=deque)
    _tail_size: int = 0

    def feed(self, data: bytes, *, last: bool = False) -> str:
        """Take bytes; what they add as text."""
        text = self._decoder.decode(data, last)
        self.chars += len(text)
        room = HEAD_CHARS - self._head_size
        head, rest = text[:room], text[room:]
        if head:
            self._head.append(head)
            self._head_size += len(head)
        if rest:
            self._keep_tail(rest[-TAIL_CHARS:])
        return text

    def _keep_tail(self, text: str) -> None:
        self._tail.append(text)
        self._tail_size += len(text)
        while self._tail_size > TAIL_CHARS:
            over = self._tail_size - TAIL_CHARS
            first = self._tail.popleft()
            kept = first[over:]
            self._tail_size -= len(first) - len(kept)
            if kept:
                self._tail.appendleft(kept)

    def text(self) -> str:
        """All that is kept, as a person would have read it in a terminal that shows no colours."""
        dropped = self.chars - self._head_size - self._tail_size
        mark = f"\n[… {dropped:,} characters left out here …]\n" if dropped else ""
        return readable("".join([*self._head, mark, *self._tail]))


def readable(text: str) -> str:
    """Text without escape sequences, and of lines that were written over only what stood there last."""
    text = _ESCAPES.sub("", text) if "\x1b" in text else text
    text = text.replace("\r\n", "\n")
    if "\r" not in text:
        return text
    return "\n".join(line.rstrip("\r").rsplit("\r", 1)[-1] for line in text.split("\n"))
