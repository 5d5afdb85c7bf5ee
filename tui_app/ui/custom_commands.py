"""Slash commands that a person or a project has written as Markdown files, and the prompts they stand for.

The prompt editor knows the type before the first frame; what reads files is imported by what reads them.
"""

import re
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import NamedTuple

FOLDER = ".plimsoll/commands"
MOST = 100
FILE_CHARS = 100_000
SUMMARY_CHARS = 60
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,31}")
_PLACE = re.compile(r"\$(ARGUMENTS|[1-9])(?![0-9])")


class CustomCommand(NamedTuple):
    """One file."""

    name: str
    """Without the slash."""
    summary: str
    """Foreign text."""
    argument: str = ""
    """How its argument is written in help."""
    file: Path = Path()
    root: Path | None = None
    """Folder that the file must not lead out of; None for the person's own."""


def find_commands(folder: Path, config: Path, taken: Collection[str]) -> tuple[CustomCommand, ...]:
    """Look for files: the nearest to the working folder wins a name, the person's own come last.

    Args:
        folder: The working folder.
        config: The person's own folder of settings.
        taken: Names that are built in: no file ever gets one of them.
    """
    from tui_app.project_files import entries, folders_of

    places = folders_of(folder)
    wanted: list[tuple[Path, Path | None]] = [(place / FOLDER, places[0]) for place in reversed(places)]
    found: dict[str, CustomCommand] = {}
    for parent, root in (*wanted, (config / "commands", None)):
        for file in entries(parent, root):
            command = _read(file, root)
            if command is not None and command.name not in taken and len(found) < MOST:
                found.setdefault(command.name, command)
    return tuple(sorted(found.values(), key=lambda command: command.name))


def _read(file: Path, root: Path | None) -> CustomCommand | None:
    from tui_app.front_matter import read_document
    from tui_app.project_files import Refused, read_inside

    name = file.stem.lower()
    if file.suffix.lower() != ".md" or not _NAME.fullmatch(name):
        return None
    try:
        read = read_inside(file, root, FILE_CHARS)
    except Refused:
        return None
    if read is None or read.cut:
        return None
    document = read_document(read.text)
    first = next((line.strip(" #") for line in document.body.splitlines() if line.strip(" #")), "")
    summary = " ".join((document.values.get("description") or first).split())[:SUMMARY_CHARS]
    hint = " ".join(document.values.get("argument-hint", "").split())[:SUMMARY_CHARS]
    takes = _PLACE.search(document.body) is not None
    return CustomCommand(name, summary, hint or ("[arguments]" if takes else ""), file, root)


def named(commands: Sequence[CustomCommand], typed: str) -> tuple[CustomCommand, str] | None:
    """The command whose exact name is typed, with what stands behind it; None where there is none."""
    words = typed.strip().removeprefix("/").split(maxsplit=1)
    wanted = words[0].lower() if words else ""
    found = next((command for command in commands if command.name == wanted), None)
    return (found, words[1] if len(words) > 1 else "") if found is not None else None


def prompt_of(command: CustomCommand, argument: str) -> str:
    """The prompt that a command stands for; its file is read anew.

    ``$ARGUMENTS`` is everything behind the name, ``$1`` to ``$9`` its words, quotes kept together. What is
    typed behind a command that names neither is put at the end.

    Raises:
        Refused: if the file is gone, or cannot be read any more.
    """
    from tui_app.front_matter import read_document
    from tui_app.project_files import Refused, read_inside

    read = read_inside(command.file, command.root, FILE_CHARS)
    if read is None:
        raise Refused("its file is gone")
    body, words = read_document(read.text).body, _words(argument)

    def put(place: re.Match[str]) -> str:
        if place[1] == "ARGUMENTS":
            return argument
        return words[int(place[1]) - 1] if int(place[1]) <= len(words) else ""

    # In one pass: what was put in is not looked through again.
    text, count = _PLACE.subn(put, body)
    return text if count or not argument else f"{text}\n\n{argument}"


def _words(argument: str) -> Sequence[str]:
    import shlex

    try:
        return shlex.split(argument)
    except ValueError:
        return argument.split()
