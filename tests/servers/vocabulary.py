"""The vocabulary of a scripted model: byte-level tokens, a few words, and the pieces it speaks in."""

import gguf

WORDS = (
    "the", "and", "that", "this", "with", "for", "from", "you", "are", "not", "have", "file", "read", "text",
    "line", "name", "type", "string", "path", "object", "description", "properties", "parameters", "function",
    "required", "integer", "arguments", "tool", "user", "assistant", "summary", "conversation", "message",
    "content", "context", "answer", "system", "plimsoll", "number", "return", "search", "default", "title",
)  # fmt: skip
"""Words the tokenizer reads as one token when a space stands before them."""


def split_unique(text: str, used: set[str]) -> list[str]:
    """Cut a text at its spaces into pieces that no other text uses; a piece is a state of the model.

    Words that are taken already grow by the next word; a taken tail is joined to what stands before it. If
    texts come shortest first this always succeeds: at worst the whole text is one piece.
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
    """Tokens in the order of their numbers; byte level, as GPT-2 writes them."""

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
        """Add a token that is read as one and never shown."""
        return self._add(text, gguf.TokenType.CONTROL)

    def piece(self, text: str) -> int:
        """Number of a token with this text; added when new."""
        spelled = self._spell(text)
        if spelled not in self._index:
            self._add(spelled, gguf.TokenType.NORMAL)
        return self._index[spelled]

    def _learn(self, word: str) -> None:
        """Teach the tokenizer to read a word as one token, by merging it from left to right."""
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
    """The printable letter that byte-level vocabularies write for each byte."""
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = iter(range(0x100, 0x200))
    return [chr(byte) if byte in printable else chr(next(others)) for byte in range(256)]
