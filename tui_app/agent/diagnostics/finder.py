"""Known language servers, and which of them are installed for a file."""

import os
import shlex
import shutil
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from tui_app.files import toml_beside
from tui_app.paths import from_home
from tui_app.records import frozen

_OWN_PROGRAMS = ("node_modules/.bin", ".venv/bin", "venv/bin")
"""Where a project keeps programs: code of the repository."""
OFF = "off"


@frozen(kw_only=True)
class LanguageServer:
    """One row of the table."""

    name: str
    command: Sequence[str]
    languages: Mapping[str, str]
    """By file extension, the protocol's name of the language."""
    roots: Sequence[str]
    source: str
    group: str = ""
    inert: str = ""
    fetches: str = ""


@frozen(kw_only=True)
class Installed:
    """A server as it is started for a project."""

    server: LanguageServer
    words: tuple[str, ...]
    root: Path
    """Root of the project that the file belongs to."""
    programs: tuple[str, ...] = ()
    """The project's own program folders, for its ``PATH``."""
    is_named: bool = False
    """Whether the user has set its command."""

    @property
    def needs_sandbox(self) -> bool:
        """Whether it would run or load what is named in files that the model may write without asking."""
        return not self.is_named and (not self.server.inert or bool(self.server.fetches))

    @property
    def key(self) -> tuple[str, Path]:
        return self.server.name, self.root


@cache
def known_servers() -> Mapping[str, LanguageServer]:
    """The servers by name, in order of preference. Blocks."""
    table = toml_beside(__file__, "servers")
    return {name: LanguageServer(name=name, **row) for name, row in table.items()}


@frozen(kw_only=True)
class ServerFinder:
    """Finds the servers of a workspace. All methods block."""

    folder: Path
    """The workspace, resolved."""
    search: str
    """The user's ``PATH``, without folders in the repository."""
    trusted: bool
    """Whether programs of the folder may run."""
    chosen: Mapping[str, str]
    """By server, the command line from the settings, or ``off``."""

    def any(self) -> bool:
        """Whether any server is installed for a project at the top of the workspace."""
        return any(self._command(each, self._programs(self.folder)) for each in known_servers().values())

    def servers_of(self, file: Path) -> list[Installed]:
        """The servers that support a file, one per group."""
        ending, groups = file.suffix[1:], set[str]()
        found: list[Installed] = []
        for server in known_servers().values():
            if ending not in server.languages or server.group in groups:
                continue
            root = self._root(file, server.roots)
            programs = self._programs(root)
            if words := self._command(server, programs):
                named = server.name in self.chosen
                found.append(
                    Installed(server=server, words=words, root=root, programs=programs, is_named=named)
                )
                groups |= {server.group} - {""}
        return found

    def _command(self, server: LanguageServer, programs: Sequence[str]) -> tuple[str, ...]:
        """Program and arguments; empty if it is not installed, or must not run here."""
        chosen = self.chosen.get(server.name, "")
        if chosen == OFF or not (self.trusted or server.inert):
            return ()
        try:
            program, *rest = shlex.split(chosen) if chosen else server.command
        except ValueError:
            return ()
        found = shutil.which(str(from_home(program)), path=os.pathsep.join((*programs, self.search)))
        return (found, *rest) if found else ()

    def _programs(self, root: Path) -> tuple[str, ...]:
        folders = dict.fromkeys((root, self.folder)) if self.trusted else ()
        return tuple(str(each / name) for each in folders for name in _OWN_PROGRAMS if (each / name).is_dir())

    def _root(self, file: Path, marks: Sequence[str]) -> Path:
        for folder in file.parents:
            if not folder.is_relative_to(self.folder):
                break
            if any((folder / mark).exists() for mark in marks):
                return folder
        return self.folder
