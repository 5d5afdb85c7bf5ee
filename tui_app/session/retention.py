"""Which sessions are older, more or larger than a person wants to keep. Only decides: nothing is deleted."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tui_app.plurals import count
from tui_app.session.info import SessionInfo
from tui_app.session.ports import SessionStore

DAY_S = 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What is kept; 0 is no limit."""

    days: float = 0.0
    """Days since a session was last used."""
    max_sessions: int = 0
    max_bytes: int = 0
    """Bytes of all sessions together, log and files."""

    @classmethod
    def of(cls, settings: Mapping[str, float]) -> "Limits":
        """From the settings' table ``retention``."""
        return cls(
            days=float(settings.get("days", 0.0)),
            max_sessions=int(settings.get("max_sessions", 0)),
            max_bytes=int(settings.get("max_bytes", 0)),
        )

    @property
    def any(self) -> bool:
        """Whether there is a limit at all."""
        return bool(self.days or self.max_sessions or self.max_bytes)


@dataclass(frozen=True, slots=True)
class Due:
    """One session that is over a limit."""

    info: SessionInfo
    reason: str
    """Which one, in words."""


def due(
    sessions: Sequence[SessionInfo], limits: Limits, *, now: float, sizes: Mapping[str, int]
) -> list[Due]:
    """The sessions over a limit, the one used last first.

    Age counts up to the last use of any session, where the clock is ahead of that: a clock that is wrong by
    years must not make everything old, and whoever was away for long finds what was there before.

    Args:
        sessions: All of them.
        limits: What is kept.
        now: Seconds since the epoch.
        sizes: Bytes of each session by id; needed where bytes are limited.
    """
    newest_first = sorted(sessions, key=lambda info: info.updated, reverse=True)
    latest = min([now, *(info.updated for info in newest_first[:1])])
    found: list[Due] = []
    total = kept = 0
    for info in newest_first:
        days = (latest - info.updated) / DAY_S
        total += sizes.get(info.id, 0)
        if limits.days and days > limits.days:
            reason = f"not used for {days:,.0f} days"
        elif limits.max_sessions and kept >= limits.max_sessions:
            reason = f"more than {count(limits.max_sessions, 'session')}"
        elif limits.max_bytes and total > limits.max_bytes:
            reason = f"more than {limits.max_bytes:,} bytes together"
        else:
            kept += 1
            continue
        found.append(Due(info, reason))
    return found


def sizes_of(store: SessionStore, sessions_dir: Path) -> dict[str, int]:
    """Bytes of each session's log and of its files on this machine, by id; reads the whole log, and blocks.

    Raises:
        sqlite3.Error: if the log cannot be read.
    """
    return {session: size + folder_size(sessions_dir / session) for session, size in store.sizes().items()}


def folder_size(folder: Path) -> int:
    """Bytes of the files in a folder; 0 where there is none."""
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.lstat().st_size if path.is_file() else 0
        except OSError:  # gone meanwhile
            continue
    return total
