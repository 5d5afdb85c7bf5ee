"""Writes the tables of ``keys.md`` from those of the program: ``python docs/make_keys.py``."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from docs.tables import fill  # noqa: E402
from tui_app.chat_keys import KEYS  # noqa: E402
from tui_app.ui.dialogs.help_rows import fixed_rows, key_row  # noqa: E402
from tui_app.ui.slash_commands import COMMANDS  # noqa: E402

PAGE = HERE / "keys.md"


def keys_table() -> str:
    """Every key of the chat screen, with the name that the settings know it by."""
    rows = [
        (f"`{key.key.replace('question_mark', '?')}`", _said(row.text, row.more), row.where)
        for key, row in zip(KEYS, map(key_row, KEYS), strict=True)
    ]
    names = [f"`{key.id}`" for key in KEYS]
    lines = [" | ".join((*row, name)) for row, name in zip(rows, names, strict=True)]
    return _table("Key | What it does | Where | Name", lines)


def fixed_table() -> str:
    """Keys of other places, which cannot be changed."""
    lines = [f"`{row.label}` | {_said(row.text, row.more)} | {row.where}" for row in fixed_rows()]
    return _table("Key | What it does | Where", lines)


def commands_table() -> str:
    """Every slash command."""
    lines = []
    for command in COMMANDS:
        # Even in code a bar ends the cell.
        argument = command.argument.replace("|", r"\|")
        written = f"`/{command.name} {argument}`" if argument else f"`/{command.name}`"
        others = ", ".join(f"`/{alias}`" for alias in command.aliases)
        waits = "waits for it" if command.busy == "queue" else "runs at once"
        lines.append(f"{written} | {others} | {command.summary} | {waits}")
    return _table("Command | Also | What it does | While an answer is written", lines)


def _said(label: str, sentence: str) -> str:
    """What a key does: without its label where the sentence begins with it."""
    return sentence if sentence.startswith(label.split(maxsplit=1)[0]) else f"{label}: {sentence}"


def _table(head: str, lines: list[str]) -> str:
    rule = "|".join("---" for _ in head.split(" | "))
    return "\n".join([f"| {head} |", f"|{rule}|", *(f"| {line} |" for line in lines)])


def filled(page: str) -> str:
    """The page with fresh tables between its marks.

    Raises:
        ValueError: if a mark is missing.
    """
    return fill(page, {"keys": keys_table(), "commands": commands_table(), "fixed": fixed_table()})


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
