"""Chat histories of aider, Markdown with prompts after ``####`` and the program's output after ``>``."""

import re
from collections.abc import Iterator
from pathlib import Path

from tui_app.session.importers.message_lists import Found
from tui_app.session.importers.places import Env, LocalTranscript
from tui_app.session.importers.shape import Shape, side_record
from tui_app.session.importers.source import Json, Source

_START = "# aider chat started at "
_PROMPT = "#### "
_MODEL = re.compile(r"^> (?:Models?|Main model): (?P<name>[^\s,]+)")
_TOKENS = re.compile(
    r"^> Tokens: (?P<sent>[\d.]+)(?P<many>k?) sent(?:.*, (?P<read>[\d.]+)(?P<more>k?) cache hit)?,"
    r" (?P<received>[\d.]+)(?P<most>k?) received"
)
_BREAK = "  "
"""aider ends its own lines with a Markdown line break, which models seldom write."""


def _place(env: Env, _home: Path, cwd: Path) -> Iterator[LocalTranscript]:
    path = cwd / (env.get("AIDER_CHAT_HISTORY_FILE", "").strip() or ".aider.chat.history.md")
    if path.is_file():
        yield LocalTranscript(path=path)


def _fits(source: Source) -> bool:
    """Return whether the file is an aider history: it has a start line, or both prompts and output lines."""
    lines = _lines(source)
    marked = [line for line in lines if line.endswith(_BREAK)]
    both = any(line.startswith(_PROMPT) for line in marked) and any(line.startswith("> ") for line in marked)
    return both or any(line.startswith(_START) for line in lines)


def _lines(source: Source) -> list[str]:
    return [line.removesuffix("\r") for line in source.raw.decode("utf-8", "replace").split("\n")]


def _find(source: Source) -> Found:
    """Read the whole history as one conversation. Consecutive lines by the same author are one message."""
    lines = _lines(source)
    strict = _BREAK if any(line.startswith(_PROMPT) and line.endswith(_BREAK) for line in lines) else ""
    steps: list[Json] = []
    voice, asked = "", False
    for number, line in enumerate(lines, 1):
        before, voice, step, text = voice, "", {}, line
        if line.startswith(_START):
            left = "lines that say when a chat began were left out"
            step = side_record(left, timestamp=line.removeprefix(_START).strip())
        elif line.startswith(_PROMPT) and line.endswith(strict):
            voice, asked, text = "user", True, line.removeprefix(_PROMPT).removesuffix(_BREAK)
        elif line.startswith(">") and (line.endswith(strict) or line == ">"):
            match = _MODEL.match(line)
            step = side_record("lines that the program printed were left out", model=match and match["name"])
            if asked and (used := _TOKENS.match(line)):
                step = {"role": "assistant", "more": True, "used": _used(used)}
        elif not line.strip() and before != "assistant":
            voice = before
            continue
        elif asked:
            voice = "assistant"
        else:
            step = {"unknown": "text before the first prompt"}
        if voice and voice == before:
            steps[-1]["content"] += f"\n{text}"
            steps[-1]["lines"].append(number)
        else:
            steps.append({"role": voice, "content": text, **step, "lines": [number]})
    steps = [{**step, "content": step["content"].strip()} for step in steps]
    return Found(steps, numbers=[step["lines"][0] for step in steps])


def _used(match: re.Match[str]) -> Json:
    def size(number: str, thousands: str) -> int:
        return round(float(number.strip(".") or 0) * (1_000 if thousands else 1)) if number else 0

    names = (("total", "sent", "many"), ("read", "read", "more"), ("output", "received", "most"))
    return {name: size(match[number], match[thousands]) for name, number, thousands in names}


AIDER = Shape(
    name="aider", program="aider", is_lines=False, fits=_fits, find=_find, places=(_place,),
    models=("model",), tokens={name: f"used.{name}" for name in ("total", "read", "output")},
)  # fmt: skip
