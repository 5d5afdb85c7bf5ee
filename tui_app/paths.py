"""Where Plimsoll keeps its files: four folders, found once at start-up and passed on as one value."""

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Self

from tui_app.files import make_private
from tui_app.records import frozen

PRIVATE_FOLDER = 0o700
"""Sessions hold what people typed and what their files say: no other user may list the folders."""


def from_home(path: str) -> Path:
    """Expand ``~`` in a path that the user has written, unless no user has that name."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        return Path(path)


@frozen
class _Within:
    """A fixed place in one of the folders."""

    folder: str
    name: str

    def __get__(self, paths: "Paths", _owner: object = None) -> Path:
        place: Path = getattr(paths, self.folder)
        return place / self.name


@frozen
class Paths:
    """The folders of one installation, and the files that have a fixed place in them."""

    config: Path
    """What the user edits."""
    data: Path
    """What must never be lost: the log of every session and its workspace."""
    state: Path
    """What is learnt on the way and can be learnt again."""
    cache: Path
    """What may be deleted at any time."""

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> Self:
        """Find the folders.

        Args:
            env: The environment. A non-empty ``PLIMSOLL_HOME`` moves all four under one folder (``~`` is
                expanded); without it they are the usual ones of the operating system.
        """
        home = env.get("PLIMSOLL_HOME", "").strip()
        if home:
            root = from_home(home).absolute()
            return cls(root / "config", root / "data", root / "state", root / "cache")
        # Imported here: with PLIMSOLL_HOME set there is nothing to ask the platform for.
        from platformdirs import PlatformDirs

        usual = PlatformDirs("plimsoll", appauthor=False)
        return cls(usual.user_config_path, usual.user_data_path, usual.user_state_path, usual.user_cache_path)

    config_file = _Within("config", "config.toml")
    """The settings file, in TOML. It need not exist."""
    keyring_names = _Within("config", "keyring-names.json")
    """Names of the API keys that the system keyring holds; no key stands in it."""
    trust_file = _Within("data", "trusted-folders.json")
    """Which folders the user trusts, and which not."""
    database = _Within("data", "sessions.db")
    """The SQLite file with the log of every session."""
    branching_lock = _Within("data", "branching.lock")
    """Held by whoever begins a branch: names and worktrees are taken one after the other."""
    pictures_dir = _Within("data", "pictures")
    """Pictures out of the clipboard, which prompts name."""
    sessions_dir = _Within("data", "sessions")
    """Parent of the workspaces, one folder for each session."""
    unsent_file = _Within("data", "unsent.jsonl")
    """Prompts that were written and never sent."""
    unsent_dir = _Within("data", "unsent")
    """What each open window holds that no log has yet."""
    learnt_file = _Within("state", "models.json")
    """What providers taught about their models: windows and token factors."""
    told_of_tmux_file = _Within("state", "told-of-tmux-keys")
    """There once the user was told which keys tmux does not pass on."""
    told_of_idle_file = _Within("state", "told-of-idle-compaction")
    """Is there once the user was offered to have idle conversations compacted."""
    log_file = _Within("state", "plimsoll.log")
    """The program's own diagnostic log."""

    @property
    def own_folders(self) -> tuple[Path, ...]:
        """All of them: a tool that wrote there could allow itself anything."""
        return self.config, self.data, self.state, self.cache

    def ensure(self) -> None:
        """Create the folders that are missing; only their owner may enter any of them.

        Raises:
            OSError: if the folder of the sessions cannot be created. The others can be done without:
                settings need only be read, and what is learnt can be learnt again.
        """
        for folder in (self.config, self.state, self.cache):
            with suppress(OSError):
                _make_private(folder)
        for folder in (self.data, self.sessions_dir):
            _make_private(folder)

    def writable(self) -> tuple[Self, str]:
        """The same, or a place for this run where the folder of the sessions cannot be written.

        Returns:
            The folders to use, and a sentence on what is not kept where it belongs; empty where all is.
        """
        keeps = _is_writable(self.data, self.database) and _is_writable(self.sessions_dir)
        learns = _is_writable(self.state, self.log_file)
        if keeps and learns:
            return self, ""
        blocked = self.state if keeps else self.data
        if not (keeps or learns) and self.state.parent == self.data.parent:
            blocked = self.data.parent
        lost, paths = [] if learns else ["nothing is logged or learnt"], self
        if not keeps:
            # Imported when it is needed: hardly any start has use for it.
            from tempfile import mkdtemp

            place = Path(mkdtemp(prefix="plimsoll-"))
            paths = replace(self, data=place)
            lost.insert(0, f"this session is kept in {place}")
        return paths, f"{blocked} cannot be written: {' and '.join(lost)}."


def _make_private(folder: Path) -> None:
    make_private(folder)
    if folder.stat().st_mode & 0o077:
        # One that is another user's is as private as that user has made it.
        with suppress(PermissionError):
            folder.chmod(PRIVATE_FOLDER)


def _is_writable(folder: Path, file: Path | None = None) -> bool:
    """Whether a folder, made where it is missing, takes files, and one in it can be written."""
    try:
        _make_private(folder)
    except OSError:
        return False
    may = folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)
    return may and (file is None or not file.exists() or os.access(file, os.W_OK))
