"""Checksums of requests in played conversations, and of the results of imports."""

import asyncio
import hashlib
import json
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path

from pydantic_ai.messages import ModelMessage

from tests.golden.pinned import START_S, pinned
from tests.quality.playing import Play
from tests.quality.safety import WINDOWS, play_name
from tests.quality.transcripts import read_transcript
from tests.quality.verdicts import checksum, parts_to_play
from tests.session.importing import foreign
from tests.session.importing.foreign import valid_script
from tui_app.context.counting.encodings import TextCounter
from tui_app.context.policy import PRESETS, Policy
from tui_app.conversation.imports.imports import import_session
from tui_app.session.importers.formats import ImportFormatError
from tui_app.session.stores.sqlite_store import SqliteStore

Lines = dict[str, str]
"""Checksums by name."""


def plays(name: str, messages: Sequence[ModelMessage], text: TextCounter) -> Lines:
    """One checksum for each policy and window, of the number of requests and all their bytes."""
    return {
        play_name(name, policy.name, window): asyncio.run(played(messages, policy, window, text))
        for policy, window in product(PRESETS.values(), WINDOWS)
    }


async def played(messages: Sequence[ModelMessage], policy: Policy, window: int, text: TextCounter) -> str:
    with tempfile.TemporaryDirectory() as folder:
        play = Play(Path(folder), policy, window, text)
        try:
            for portion in parts_to_play(messages, play):
                play.say(portion)
                await play.send()
            return checksum(play)
        finally:
            play.close()


def transcript(path: Path) -> Lines:
    """Checksums of a real transcript's import and plays. They reveal nothing of its content."""
    name = name_of(path)
    found = {f"import {name} {format}": made for format, made in imports(path)}
    if (read := read_transcript(path)) is not None:
        text = TextCounter("o200k_base")
        text.load()
        found |= plays(name, read.messages, text)
    return found


def name_of(path: Path) -> str:
    """A name for a file that reveals nothing of its content."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def made_up_imports() -> Lines:
    """Checksums of importing small made-up files, one per format."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        files = [*foreign.FILES, ("claude-code", b"\n".join(valid_script().lines()))]
        numbers: Counter[str] = Counter()
        for number, (_, content) in enumerate(files):
            path = Path(folder) / f"file{number}"
            path.write_bytes(content)
            for format, made in imports(path):
                numbers[format] += 1
                found[f"import {format} {numbers[format]}"] = made
    return found


def imports(path: Path) -> Iterator[tuple[str, str]]:
    """The detected format and the imported session, with times and folder pinned."""
    with tempfile.TemporaryDirectory() as folder, pinned() as world:
        copy = Path(folder) / "transcript"
        shutil.copyfile(path, copy)
        os.utime(copy, (START_S, START_S))
        store = SqliteStore(Path(folder) / "sessions.db")
        try:
            report = import_session(copy, store=store, cwd=world.project, now=world.now)
            stored = [(record.to_json(), message) for record, message in store.records(report.session)]
        except ImportFormatError as error:
            yield "none", _checksum(str(error).replace(folder, ""))
            return
        finally:
            store.close()
    text = json.dumps([{**report.to_json(), "session": "", "file": ""}, stored])
    text = text.replace(report.session, "").replace(folder, "")
    yield report.format, f"{len(stored)} {_checksum(text)}"


def _checksum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:24]
