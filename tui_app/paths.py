"""The program's folders and files, determined once at startup and passed on as one value."""

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Self

from tui_app.files import make_private
from tui_app.records import frozen

PRIVATE_FOLDER = 0o700
"""Sessions contain what users typed and what their files contain: no other user may list the folders."""


def from_home(path: str) -> Path:
    """Expand ``~`` in a path from the user, unless the home is unknown."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        return Path(path)


@frozen
class _Within:
    """Descriptor of a fixed file in one of the folders."""

    folder: str
    name: str

    def __get__(self, paths: "Paths", _owner: object = None) -> Path:
        place: Path = getattr(paths, self.folder)
        return place / self.name


@frozen
class Paths:
    """The folders of one installation, and the files with a fixed place in them."""

    config: Path
    """What the user edits."""
    data: Path
    """What must never be lost: the log and workspace of every session."""
    state: Path
    """What is learned and can be learned again."""
    cache: Path
    """What may be deleted at any time."""

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> Self:
        """Determine the folders.

        Args:
            env: The environment. A non-empty ``PLIMSOLL_HOME`` puts all four in one folder (``~`` is
                expanded); the
                default is the operating system's usual folders.
        """
        home = env.get("PLIMSOLL_HOME", "").strip()
        if home:
            root = from_home(home).absolute()
            return cls(root / "config", root / "data", root / "state", root / "cache")
        # Imported here: not needed if PLIMSOLL_HOME is set.
        from platformdirs import PlatformDirs

        usual = PlatformDirs("plimsoll", appauthor=False)
        return cls(usual.user_config_path, usual.user_data_path, usual.user_state_path, usual.user_cache_path)

    config_file = _Within("config", "config.toml")
    """The settings file, in TOML. It need not exist."""
    keyring_names = _Within("config", "keyring-names.json")
    """Names of the API keys in the system keyring, without the keys."""
    trust_file = _Within("data", "trusted-folders.json")
    """Trusted and untrusted folders."""
    database = _Within("data", "sessions.db")
    """The SQLite file with the log of every session."""
    branching_lock = _Within("data", "branching.lock")
    """Lock for creating a branch, so that names and worktrees are assigned one at a time."""
    pictures_dir = _Within("data", "pictures")
    """Pictures from the clipboard, which prompts name."""
    sessions_dir = _Within("data", "sessions")
    """Parent of the workspaces, one folder per session."""
    unsent_file = _Within("data", "unsent.jsonl")
    """Prompts that were written and never sent."""
    unsent_dir = _Within("data", "unsent")
    """Unsent prompts of each open window."""
    learnt_file = _Within("state", "models.json")
    """What was learned about models: windows and token factors."""
    told_of_tmux_file = _Within("state", "told-of-tmux-keys")
    """Exists once the user was told which keys tmux does not pass on."""
    told_of_idle_file = _Within("state", "told-of-idle-compaction")
    """Exists once the user was offered compaction of idle conversations."""
    log_file = _Within("state", "plimsoll.log")
    """The program's own diagnostic log."""

    @property
    def own_folders(self) -> tuple[Path, ...]:
        """All folders: a tool that could write there could allow itself anything."""
        return self.config, self.data, self.state, self.cache

    def ensure(self) -> None:
        """Create the missing folders; only their owner may enter them.

        Raises:
            OSError: if the folder of the sessions cannot be created. The others are optional: settings need
                only be read,
                and what is learned can be learned again.
        """
        for folder in (self.config, self.state, self.cache):
            with suppress(OSError):
                _make_private(folder)
        for folder in (self.data, self.sessions_dir):
            _make_private(folder)

    def writable(self) -> tuple[Self, str]:
        """Return paths with a temporary folder for this run if sessions cannot be written.

        Returns:
            The paths to use, and a sentence about what is not kept as usual; empty if everything is.
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
            # Imported here: hardly any start needs it.
            from tempfile import mkdtemp

            place = Path(mkdtemp(prefix="plimsoll-"))
            paths = replace(self, data=place)
            lost.insert(0, f"this session is kept in {place}")
        return paths, f"{blocked} cannot be written: {' and '.join(lost)}."


def _make_private(folder: Path) -> None:
    make_private(folder)
    if folder.stat().st_mode & 0o077:
        # A folder of another user keeps that user's permissions.
        with suppress(PermissionError):
            folder.chmod(PRIVATE_FOLDER)


def _is_writable(folder: Path, file: Path | None = None) -> bool:
    """Return whether a folder, created if missing, is writable, and so is a file in it."""
    try:
        _make_private(folder)
    except OSError:
        return False
    may = folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)
    return may and (file is None or not file.exists() or os.access(file, os.W_OK))
