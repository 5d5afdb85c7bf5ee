"""The transcripts of other programs on this machine, newest first, with what a list shows of each."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tui_app.paths import from_home
from tui_app.records import frozen
from tui_app.session.importers import agents, editors
from tui_app.session.importers.databases import stored_sessions
from tui_app.session.importers.opencode import database_sessions
from tui_app.session.importers.reader import (
    PLACEHOLDER,
    block_list,
    given_title,
    objects_at,
    one_line,
    record_text,
    seconds,
    value_at,
    wanted,
)
from tui_app.session.importers.shapes import Shape, beginning
from tui_app.session.importers.source import (
    MAX_DEPTH,
    ImportFormatError,
    Json,
    Source,
    closed,
    open_regular,
    parse_json,
)

# Where other programs keep their transcripts on this machine.

Env = Mapping[str, str]


@frozen
class Found:
    """A transcript that was found, before it is opened."""

    path: Path
    """What to import: a file, or ``FILE#SESSION`` for a session in a database."""
    info: Json | None = None
    """Title, folder and time, where the place has them apart from the transcript."""
    program: str = ""
    """Name of the format, where it is not that of the place."""


@frozen
class Place:
    """The transcripts of one program."""

    program: str
    """Name of the format its transcripts are in."""
    search: Callable[[Env, Path, Path], Iterator[Found]]
    """Takes the environment, the home folder and the current folder."""
    shape: Shape | None = None
    """How to find the title in a format that is a map of names."""


def _claude(env: Env, home: Path, _cwd: Path) -> Iterator[Found]:
    own = env.get("CLAUDE_CONFIG_DIR", "").strip()
    for root in [from_home(own)] if own else [home / ".claude", home / ".config" / "claude"]:
        for path in (root / "projects").glob("*/*.jsonl"):
            # Sub-agents have files of their own in some versions; they belong to another conversation.
            if not path.name.startswith("agent-"):
                yield Found(path)


def _opencode(env: Env, home: Path, _cwd: Path) -> Iterator[Found]:
    root = _folder(env, "XDG_DATA_HOME", home / ".local" / "share") / "opencode"
    database = root / "opencode.db"
    if database.is_file():
        for session, info in database_sessions(database):
            yield Found(database.with_name(f"{database.name}#{session}"), info)
    else:
        yield from map(Found, (root / "storage" / "session").glob("*/*.json"))


def _aider(env: Env, _home: Path, cwd: Path) -> Iterator[Found]:
    path = cwd / (env.get("AIDER_CHAT_HISTORY_FILE", "").strip() or ".aider.chat.history.md")
    if path.is_file():
        yield Found(path)


def _folder(env: Env, variable: str, usual: Path) -> Path:
    value = env.get(variable, "").strip()
    return from_home(value) if value else usual


def _files(variable: str, usual: str, *patterns: str) -> Callable[[Env, Path, Path], Iterator[Found]]:
    """Search the folder that a variable names, else the usual one in the home folder."""

    def search(env: Env, home: Path, _cwd: Path) -> Iterator[Found]:
        root = _folder(env, variable, home / usual)
        for pattern in patterns:
            yield from map(Found, root.glob(pattern))

    return search


def _stores(variable: str, usual: str, *patterns: str) -> Callable[[Env, Path, Path], Iterator[Found]]:
    """Search databases in the folder that a variable names, else the usual one in the home folder."""

    def search(env: Env, home: Path, _cwd: Path) -> Iterator[Found]:
        root = _folder(env, variable, home / usual)
        for path in (path for pattern in patterns for path in root.glob(pattern)):
            for info in stored_sessions(path):
                yield Found(path.with_name(f"{path.name}#{info['id']}"), info)

    return search


_MAX_EXPORT = 100_000_000
"""Bytes of an export in which the conversations are counted up."""
_EXPORTS = (("chatgpt", "mapping", ("title", "id", "update_time")),
            ("claude-ai", "chat_messages", ("name", "uuid", "updated_at")),
            ("open-webui", "chat", ("title", "id", "updated_at")))  # fmt: skip
"""Format, what nobody else's conversations have, and where title, id and time stand."""


def _exports(_env: Env, _home: Path, cwd: Path) -> Iterator[Found]:
    """The conversations in exports that lie in the current folder."""
    for path in [cwd / "conversations.json", *cwd.glob("chat-export-*.json")]:
        if not path.is_file() or path.stat().st_size > _MAX_EXPORT:
            continue
        listed = _parsed(path.read_bytes().decode("utf-8", "replace"))
        for each in listed if isinstance(listed, list) else []:
            for program, sign, (title, name, updated) in _EXPORTS:
                if isinstance(each, dict) and each.get(sign):
                    info = {
                        "title": each.get(title),
                        "time": {"updated": each.get(updated) or path.stat().st_mtime},
                    }
                    part = record_text(each, name)
                    yield Found(path.with_name(f"{path.name}#{part}") if part else path, info, program)


_VS_CODE = "globalStorage/*/tasks/*/api_conversation_history.json"

PLACES: tuple[Place, ...] = (
    Place("claude-code", _claude),
    Place(
        "codex",
        _files("CODEX_HOME", ".codex", "sessions/**/rollout-*.jsonl", "archived_sessions/**/rollout-*.jsonl"),
    ),
    Place(
        "copilot-cli",
        _files("COPILOT_HOME", ".copilot", "session-state/*/events.jsonl", "session-state/*.jsonl"),
    ),
    Place("opencode", _opencode),
    Place("pi", _files("PI_CODING_AGENT_DIR", ".pi/agent", "sessions/**/*.jsonl")),
    Place(
        "gemini-cli",
        _files(
            "GEMINI_CLI_HOME", "", ".gemini/tmp/*/chats/session-*.json", ".gemini/tmp/*/chats/session-*.jsonl"
        ),
    ),
    Place("aider", _aider),
    Place("amp", _files("XDG_DATA_HOME", ".local/share", "amp/threads/T-*.json"), agents.AMP),
    Place(
        "cline",
        _files(
            "",
            "",
            f".config/Code/User/{_VS_CODE}",
            f"Library/Application Support/Code/User/{_VS_CODE}",
            ".cline/data/tasks/*/api_conversation_history.json",
        ),
        editors.CLINE,
    ),
    Place("continue", _files("CONTINUE_GLOBAL_DIR", ".continue", "sessions/*-*.json"), editors.CONTINUE),
    Place("cursor", _files("", ".cursor", "projects/*/agent-transcripts/**/*.jsonl"), editors.CURSOR),
    Place("cursor", _stores("", ".cursor", "chats/*/*/store.db")),
    Place("factory", _files("", ".factory", "sessions/**/*.jsonl"), agents.FACTORY),
    Place("gemini-api", _files("GEMINI_CLI_HOME", "", ".gemini/tmp/*/checkpoint*.json"), agents.GEMINI),
    Place("goose", _files("XDG_DATA_HOME", ".local/share", "goose/sessions/*.jsonl"), agents.GOOSE),
    Place("goose", _stores("XDG_DATA_HOME", ".local/share", "goose/sessions/sessions.db")),
    Place("grok", _files("GROK_HOME", ".grok", "sessions/*/*/chat_history.jsonl"), agents.GROK),
    Place("kimi", _files("KIMI_SHARE_DIR", ".kimi", "sessions/*/*/context.jsonl"), agents.KIMI),
    Place("qwen-code", _files("", ".qwen", "projects/*/chats/*.jsonl", "tmp/*/chats/*.jsonl"), agents.QWEN),
    Place("vibe", _files("VIBE_HOME", ".vibe", "logs/session/*/messages.jsonl"), agents.VIBE),
    Place("zed", _stores("XDG_DATA_HOME", ".local/share", "zed/threads/threads.db")),
    Place("zed", _stores("", "Library/Application Support", "Zed/threads/threads.db")),
    Place("chatgpt", _exports),
)
"""Every program whose transcripts are looked for."""


# A glance at the beginning of a transcript: its title and its folder, without reading all of it.

_BYTES = (65_536, 1_048_576)
"""How much of a file is read, and how much when no title stands there."""
_MAX_TITLE = 120
"""Characters of a title: long prompts often differ in what stands behind their first line."""
_INNER = ("message", "payload", "data", "info")
"""Keys under which records keep what was said."""


@frozen
class Glance:
    """What the beginning of a file says."""

    title: str = ""
    cwd: str = ""
    is_part: bool = False
    """Whether it is a sub-agent's session, which belongs to another."""


def glance(path: Path, shape: Shape | None = None) -> Glance:
    """Look at the beginning of a file.

    Args:
        path: The file.
        shape: Of a format that is a map of names.

    Raises:
        ImportFormatError: if it is no file but a pipe or a device.
        OSError: if it cannot be read.
    """
    seen = Glance()
    for size in _BYTES:
        with open_regular(path) as file:
            raw = file.read(size)
        if shape is not None:
            title, prompt, cwd = beginning(shape, Source(path=path, raw=raw, mtime=0.0))
            seen = Glance(one_line(title or prompt, _MAX_TITLE), cwd)
            if title or len(raw) < size:
                break
            continue
        text = raw.decode("utf-8", "replace")
        title = prompt = cwd = ""
        is_part = False
        for record in _records(text):
            cwd = cwd or _first(record, ("cwd", "directory"))
            title = title or _first(record, ("title", "customTitle", "name"))
            prompt = prompt or _prompt(record)
            is_part = is_part or bool(record_text(record, "parentID"))
            if cwd and (title or prompt):
                break
        asked = (line.removeprefix("#### ") for line in text.split("\n") if line.startswith("#### "))
        said = title or prompt or next(asked, "")
        seen = Glance(one_line(said, _MAX_TITLE), cwd, is_part)
        if seen.title or seen.is_part or len(raw) < size:
            break
    return seen


def _records(text: str) -> Iterator[Json]:
    """The objects at the beginning of the file: its lines, or the messages of the document it is."""
    found = False
    for line in text.split("\n"):
        value = _parsed(line) if line.startswith("{") else None
        if isinstance(value, dict):
            found = True
            yield from _with_messages(value)
    document = None if found else _parsed(text) or _parsed(closed(text, MAX_DEPTH).text)
    if isinstance(document, dict):
        yield from _with_messages(document)


def _with_messages(record: Json) -> Iterator[Json]:
    yield record
    yield from objects_at(record, "messages")


def _parsed(text: str) -> Any:
    try:
        return parse_json(text)
    except ValueError:
        return None


def _inner(record: Json) -> list[Json]:
    inner = [record.get(key) for key in _INNER]
    deeper = [each.get("context") for each in inner if isinstance(each, dict)]
    return [record, *(each for each in (*inner, *deeper) if isinstance(each, dict))]


def _first(record: Json, keys: tuple[str, ...]) -> str:
    if keys[0] == "title" and record.get("type") not in (None, "custom-title", "session_info"):
        return ""
    found = (record_text(each, key) for each in _inner(record) for key in keys)
    return next((text for text in found if text and not PLACEHOLDER.fullmatch(text)), "")


def _prompt(record: Json) -> str:
    """What the user said in a record; empty when it is not the user's, or a note of the program."""
    if record.get("isMeta") is True or record.get("isSidechain") is True:
        return ""
    kind = record_text(record, "type")
    for each in _inner(record):
        if "user" in (each.get("role"), kind.partition(".")[0]) and "content" in each:
            blocks = block_list(each["content"])
            texts = [record_text(block, "text") for block in blocks if isinstance(block, dict)]
            if said := wanted("\n".join(filter(None, texts))):
                return " ".join(said.split())
    return ""


@frozen(kw_only=True)
class LocalTranscript:
    """One transcript that can be imported."""

    path: Path
    """What to import; see :class:`tui_app.session.importers.discovery.Found`."""
    program: str
    """Name of the format it is expected to be in."""
    title: str
    """Of the program, else the first prompt; empty when neither stands near its beginning."""
    cwd: str
    time: float
    """When it was last written, in seconds since the epoch."""
    size: int
    """Bytes; 0 for a session in a database."""


def find_transcripts(
    env: Mapping[str, str], *, home: Path, cwd: Path, go_on: Callable[[], bool] = lambda: True
) -> list[LocalTranscript]:
    """Look in the places where the programs keep them. Blocks: it reads the beginning of every file.

    Args:
        env: The environment; the programs' own variables move the places.
        home: The user's home folder.
        cwd: The current folder, for programs that write into the project.
        go_on: Asked between two files; the search ends when it says no.
    """
    found: list[LocalTranscript] = []
    for place in PLACES:
        try:
            for each in place.search(env, home, cwd):
                if not go_on():
                    return []
                found += _looked_into(place, each)
        except OSError:
            # A folder that may not be read hides what is in it, and nothing else.
            continue
    return sorted(found, key=lambda each: (-each.time, str(each.path)))


def _looked_into(place: Place, found: Found) -> list[LocalTranscript]:
    program = found.program or place.program
    if found.info is not None:
        return [
            LocalTranscript(
                path=found.path,
                program=program,
                title=given_title(record_text(found.info, "title")),
                cwd=record_text(found.info, "directory"),
                time=seconds(value_at(found.info, "time.updated"), 0.0),
                size=0,
            )
        ]
    try:
        status = found.path.stat()
        seen = glance(found.path, place.shape)
    except (OSError, ImportFormatError):
        return []
    if seen.is_part:
        return []
    return [
        LocalTranscript(
            path=found.path,
            program=program,
            title=seen.title,
            cwd=seen.cwd,
            time=status.st_mtime,
            size=status.st_size,
        )
    ]
