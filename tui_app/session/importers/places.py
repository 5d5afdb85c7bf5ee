"""Where other programs keep their transcripts on this machine."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tui_app.paths import from_home
from tui_app.session.importers.opencode_store import database_sessions
from tui_app.session.importers.source import Json

Env = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Found:
    """A transcript that was found, before anybody has looked into it."""

    path: Path
    """What to import: a file, or ``FILE#SESSION`` for a session in a database."""
    info: Json | None = None
    """Title, folder and time, where the place has them apart from the transcript."""


@dataclass(frozen=True, slots=True)
class Place:
    """The transcripts of one program."""

    program: str
    """Name of the format its transcripts are in."""
    search: Callable[[Env, Path, Path], Iterator[Found]]
    """Takes the environment, the home folder and the current folder."""


def _claude(env: Env, home: Path, _cwd: Path) -> Iterator[Found]:
    own = env.get("CLAUDE_CONFIG_DIR", "").strip()
    for root in [from_home(own)] if own else [home / ".claude", home / ".config" / "claude"]:
        for path in (root / "projects").glob("*/*.jsonl"):
            # Sub-agents have files of their own in some versions; they belong to another conversation.
            if not path.name.startswith("agent-"):
                yield Found(path)


def _codex(env: Env, home: Path, _cwd: Path) -> Iterator[Found]:
    root = _folder(env, "CODEX_HOME", home / ".codex")
    for pattern in ("sessions/**/rollout-*.jsonl", "archived_sessions/**/rollout-*.jsonl"):
        yield from map(Found, root.glob(pattern))


def _copilot(env: Env, home: Path, _cwd: Path) -> Iterator[Found]:
    root = _folder(env, "COPILOT_HOME", home / ".copilot")
    for pattern in ("session-state/*/events.jsonl", "session-state/*.jsonl"):
        yield from map(Found, root.glob(pattern))


def _opencode(env: Env, home: Path, _cwd: Path) -> Iterator[Found]:
    root = _folder(env, "XDG_DATA_HOME", home / ".local" / "share") / "opencode"
    database = root / "opencode.db"
    if database.is_file():
        for session, info in database_sessions(database):
            yield Found(database.with_name(f"{database.name}#{session}"), info)
    else:
        yield from map(Found, (root / "storage" / "session").glob("*/*.json"))


def _pi(env: Env, home: Path, _cwd: Path) -> Iterator[Found]:
    root = _folder(env, "PI_CODING_AGENT_DIR", home / ".pi" / "agent")
    yield from map(Found, (root / "sessions").glob("**/*.jsonl"))


def _gemini(env: Env, home: Path, _cwd: Path) -> Iterator[Found]:
    root = _folder(env, "GEMINI_CLI_HOME", home) / ".gemini" / "tmp"
    for pattern in ("*/chats/session-*.json", "*/chats/session-*.jsonl"):
        yield from map(Found, root.glob(pattern))


def _aider(env: Env, _home: Path, cwd: Path) -> Iterator[Found]:
    path = cwd / (env.get("AIDER_CHAT_HISTORY_FILE", "").strip() or ".aider.chat.history.md")
    if path.is_file():
        yield Found(path)


def _folder(env: Env, variable: str, usual: Path) -> Path:
    value = env.get(variable, "").strip()
    return from_home(value) if value else usual


PLACES: tuple[Place, ...] = (
    Place("claude-code", _claude),
    Place("codex", _codex),
    Place("copilot-cli", _copilot),
    Place("opencode", _opencode),
    Place("pi", _pi),
    Place("gemini-cli", _gemini),
    Place("aider", _aider),
)
"""Every program whose transcripts are looked for."""
