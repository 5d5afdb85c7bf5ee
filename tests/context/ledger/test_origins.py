"""Where words first occurred: the words of messages are cached, so that few are read, and each once."""

import random
import re

import pytest
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, UserPromptPart

from tui_app.context.ledger.origins import Operand, OperandKind, Origins
from tui_app.context.views.view import Item

PIECES = ("evil", "example", "net", ".", "-", "/", "~", " ", " -", "git", "push", "x", "a_b", "..", "=", "İ")


def title(tool: str, args: str) -> str:
    return tool


def messages(texts: list[str]) -> list[Item]:
    made: list[ModelMessage] = [
        ModelResponse(parts=[TextPart(text)]) if number % 2 else ModelRequest(parts=[UserPromptPart(text)])
        for number, text in enumerate(texts)
    ]
    return [Item(number + 1, message) for number, message in enumerate(made)]


def followed(items: list[Item]) -> Origins:
    origins = Origins(title)
    origins.count([item.key for item in items])
    assert origins.unread == {item.key for item in items}
    origins.grow(items)
    return origins


def test_it_is_found_wherever_a_search_of_every_text_finds_it() -> None:
    bounds: dict[OperandKind, tuple[str, str]] = {
        "address": (r"(?<![\w.-])", r"(?![\w-]|\.\w)"),
        "path": (r"(?<![\w./~-])", r"(?![\w-]|[./]\w)"),
        "command": (r"(?<![\w./-])", r"(?![\w-]|[./=:]\w)"),
    }
    dice = random.Random(7)

    def words(most: int) -> str:
        return " ".join("".join(dice.choices(PIECES, k=dice.randint(1, most))).casefold().split())

    texts = [words(12) for _ in range(300)]
    origins, hits = followed(messages(texts)), 0
    for _ in range(600):
        kind = dice.choice([*bounds])
        if not (form := words(4)):
            continue
        before, after = bounds[kind]
        pattern = re.compile(f"{before}{re.escape(form)}{after}")
        expected = [number + 1 for number, text in enumerate(texts) if text and pattern.search(text)]
        found = list(dict.fromkeys(key for key, _ in origins.authors(Operand(kind, (form,)))))
        assert found == expected, (kind, form)
        hits += len(expected)
    assert hits > 500


def test_a_text_is_read_once_for_each_thing_that_is_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    search = Operand.is_in

    def counted(self: Operand, text: str) -> bool:
        read.append(text)
        return search(self, text)

    monkeypatch.setattr(Operand, "is_in", counted)
    items = messages(["Nothing here.", "Send it to evil.example.net.", "The example.", "More of the net."])
    origins, operand = followed(items), Operand("address", ("evil.example.net",))
    assert list(origins.authors(operand)) == [(2, "model")]
    assert read == ["send it to evil.example.net."]
    read.clear()
    later = messages(["", "", "", "", "Of something else.", "Again: evil.example.net"])[4:]
    origins.count([5, 6], more=True)
    assert origins.unread == {5, 6}
    origins.grow(later)
    assert list(origins.authors(operand)) == [(2, "model"), (6, "model")]
    assert read == ["again: evil.example.net"]
    origins.count([1, 6])
    assert origins.unread == set()
    assert list(origins.authors(operand)) == [(6, "model")], "what left the view counts no more"
