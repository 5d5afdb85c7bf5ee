"""Chat histories of aider: Markdown. Prompts stand behind ``####``, what the program printed behind ``>``."""

import re
from collections.abc import Iterator
from pathlib import Path

from tui_app.session.importers.places import Env, Transcript
from tui_app.session.importers.reader import Reader, seconds
from tui_app.session.importers.source import Imported, Source

_START = "# aider chat started at "
_PROMPT = "#### "
_MODEL = re.compile(r"^> (?:Models?|Main model): (?P<name>\S+)")
_BLANK = " \t\r\v\f"
_BREAK = "  "
"""The program ends its own lines with a Markdown line break; what a model writes seldom does."""


def aider_place(env: Env, _home: Path, cwd: Path) -> Iterator[Transcript]:
    path = cwd / (env.get("AIDER_CHAT_HISTORY_FILE", "").strip() or ".aider.chat.history.md")
    if path.is_file():
        yield Transcript(path)


def is_aider(source: Source) -> bool:
    """Whether the file is such a history: it says when it began, or it holds prompts as well as its notes."""
    lines = _lines(source)
    if any(line.startswith(_START) for line in lines):
        return True
    marked = [line for line in lines if line.endswith(_BREAK)]
    return any(line.startswith(_PROMPT) for line in marked) and any(line.startswith("> ") for line in marked)


def read_aider(source: Source) -> Imported:
    """Read the whole history as one conversation."""
    return _Reader(source).read()


def _lines(source: Source) -> list[str]:
    return [line.removesuffix("\r") for line in source.raw.decode("utf-8", "replace").split("\n")]


class _Reader(Reader):
    def read(self) -> Imported:
        lines = _lines(self.source)
        self._prompt: list[str] = []
        self._said: list[str] = []
        self._begun = 0
        self._asked = False
        marked = any(line.startswith(_PROMPT) and line.endswith(_BREAK) for line in lines)
        strict = _BREAK if marked else ""
        for number, line in enumerate(lines, 1):
            if line.startswith(_START):
                self._flush()
                self.time = seconds(line.removeprefix(_START).strip(), self.time)
                self.out.leave(number, "lines that say when a chat began were left out")
            elif line.startswith(_PROMPT.rstrip() + " ") and line.endswith(strict):
                if self._said:
                    self._flush()
                self._begun = self._begun if self._prompt else number
                self._prompt.append(line.removeprefix(_PROMPT).removesuffix(_BREAK))
                self.out.places.add(number)
            elif line.startswith(">") and (line.endswith(strict) or line == ">"):
                if match := _MODEL.match(line):
                    self.model = match["name"].rstrip(",")
                self._flush_prompt()
                self.out.leave(number, "lines that the program printed were left out")
            elif not line.strip(_BLANK) and not self._said:
                continue
            elif not self._prompt and not self._said and not self._asked:
                self.out.skip(number, "text before the first prompt")
            else:
                self._flush_prompt()
                self._begun = self._begun if self._said else number
                self._said.append(line)
                self.out.places.add(number)
        self._flush()
        return self.finish(number for number, line in enumerate(lines, 1) if line.strip(_BLANK))

    def _flush_prompt(self) -> None:
        if self._prompt:
            self.say("\n".join(self._prompt), self._begun)
            self._asked = True
            self._prompt = []

    def _flush(self) -> None:
        self._flush_prompt()
        if text := "\n".join(self._said).strip():
            self.answer(self._begun).text(text)
            self.end_answer()
        self._said = []
