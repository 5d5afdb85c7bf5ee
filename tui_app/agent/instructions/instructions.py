"""System prompt of the built-in agent, and instruction files."""

import os
import platform
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path

from tui_app.agent.instructions.agent_files import find_agents
from tui_app.agent.instructions.prompts import PROMPTS, tagged
from tui_app.agent.instructions.skills import find_skills
from tui_app.paths import from_home
from tui_app.records import frozen
from tui_app.references import mentions
from tui_app.system.project_files import MayRead, Refused, anything, folders_of, read_inside
from tui_app.text import visible
from tui_app.tool_specs import WRITE_FILE

MEMORY, EXPLORER = PROMPTS["memory"], PROMPTS["explorer"]


def system_instructions(working: Collection[str] = (), *, kept: Sequence[Path] = ()) -> str:
    """The system prompt, the same for all sessions, so that providers can cache it.

    It contains no path of the session: a fork could then not reuse its parent's cache.

    Args:
        working: Names of the tools that change something.
        kept: The session's folders of full tool results and of conversations before their compactions, if it
            has any; the tools accept their names alone.
    """
    role = PROMPTS["role"].format(work=PROMPTS["works" if WRITE_FILE.name in working else "reads"])
    parts = [role, "Give paths relative to the working folder.", MEMORY]
    if kept:
        outputs, history = (folder.name for folder in kept)
        parts += PROMPTS["results"].format(outputs=outputs), PROMPTS["history"].format(history=history)
    return "\n\n".join(parts)


def surroundings_text(
    folder: Path, branch: str, today: date, added: Sequence[Path] = (), sandbox: str = ""
) -> str:
    """Folder, branch, platform and date as the model reads them.

    Args:
        folder: The working folder.
        branch: The branch checked out there; empty outside of a repository.
        today: The date.
        added: Further folders the user has opened.
        sandbox: A sentence about the sandbox for commands.
    """
    lines = [
        f"Working folder: {folder}",
        *([f"Git branch: {branch}"] if branch else []),
        *(f"Further folder, by absolute path: {each}" for each in added),
        *filter(None, [sandbox]),
        f"Platform: {platform.system()} ({platform.machine()})",
        f"Date: {today:%A, %Y-%m-%d}",
    ]
    # Names are untrusted: each stays within one line.
    return tagged("surroundings", "As this session began:", *map(visible, lines))


OWN_NAME = "AGENTS.md"
"""File next to the settings, for all projects."""
NAMES = ("AGENTS.md", "CLAUDE.md", "CLAUDE.local.md")
FILE_CHARS = 20_000
"""Maximum characters of one file sent to the model."""
ALL_CHARS = 40_000
"""Maximum characters of all files together; those nearest to the working folder come first."""
IMPORT_DEPTH = 5
"""Maximum depth of imports within imports."""
MOST_FILES = 64
"""Maximum files of one reading."""
TAG = "project_instructions"


@frozen
class InstructionFile:
    """One instruction file."""

    path: str
    """Relative to the repository's root; elsewhere the whole path."""
    text: str = ""
    note: str = ""
    """Shown with it: that it was cut, or why it was not read."""
    own: bool = False
    """Whether it is the user's own, for all projects."""
    importer: str = ""
    """The file that imports it."""
    real: Path | None = field(default=None, repr=False, compare=False)
    """Its resolved path."""

    @property
    def about(self) -> str:
        """Its origin, and the note."""
        origin = f"imported by {self.importer}" if self.importer else "for all projects" if self.own else ""
        return ", ".join(filter(None, (origin, self.note)))

    @property
    def problem(self) -> str:
        """Why it was not read, or not completely, as a sentence; else empty."""
        if not self.note:
            return ""
        subject = f"{self.importer} imports {self.path}" if self.importer else self.path
        return f"{subject}: {self.note}."


def read_instructions(
    folder: Path | None, may_read: MayRead = anything, config: Path | None = None, added: Sequence[Path] = ()
) -> tuple[InstructionFile, ...]:
    """Read all instruction files: the user's own first, then the repository's, the working folder's last.

    A file with the same text as another one, such as a link, is included once.

    Args:
        folder: The working folder; None for only the user's own.
        may_read: Applies the rules to a file.
        config: The user's folder of settings; None leaves it out.
        added: Further folders that files may be imported from.
    """
    folders = folders_of(folder) if folder is not None else []
    reading = _Reading(may_read, (*folders[:1], *added), config)
    own = [] if config is None else [config / OWN_NAME]
    return reading.read_all([*own, *(place / name for place in folders for name in NAMES)])


def read_folders(
    folders: Sequence[Path],
    root: Path,
    may_read: MayRead = anything,
    *,
    added: Sequence[Path] = (),
    known: Iterable[Path] = (),
) -> tuple[InstructionFile, ...]:
    """Read the instruction files of some folders, including imports.

    Args:
        folders: The outermost first.
        root: The root of their repository.
        may_read: Applies the rules to a file.
        added: Further folders that files may be imported from.
        known: Resolved paths of files read before, which are left out.
    """
    reading = _Reading(may_read, (root, *added), seen=set(known))
    return reading.read_all([place / name for place in folders for name in NAMES])


@dataclass(slots=True)
class _Reading:
    """Reads files with their imports, each once."""

    may_read: MayRead
    roots: tuple[Path, ...]
    """Folders that files must be in; the first one is the repository."""
    config: Path | None = None
    found: list[InstructionFile] = field(default_factory=list)
    seen: set[Path] = field(default_factory=set)
    """Resolved paths of the files already read."""
    refused: set[str] = field(default_factory=set)

    def read_all(self, files: Iterable[Path]) -> tuple[InstructionFile, ...]:
        for file in files:
            self.read(file)
        return _fitted(self.found)

    def read(self, file: Path, importer: str = "", depth: int = 0) -> None:
        """Read a file, with its imports before it: the importing text explains them."""
        own = self.config is not None and file.is_relative_to(self.config)
        path, real = self._named(file), Path(os.path.realpath(file))
        if real in self.seen or path in self.refused or len(self.found) >= MOST_FILES:
            return
        here = InstructionFile(path, own=own, importer=importer, real=real)
        root = next((each for each in self.roots if file.is_relative_to(each)), None)
        try:
            if root is None and not own:
                raise Refused("it is outside this repository")
            if depth > IMPORT_DEPTH:
                raise Refused(f"imports are followed at most {IMPORT_DEPTH} deep")
            read = read_inside(file, root, FILE_CHARS, self.may_read)
            if read is not None and "\0" in read.text:
                raise Refused("it is not text")
        except Refused as refused:
            self.refused.add(path)
            self.found.append(replace(here, note=f"not read: {refused}"))
            return
        self.seen.add(real)
        text = read.text.strip() if read is not None else ""
        if read is None or not text or any(text == each.text for each in self.found):
            return
        for target in imports_of(text):
            if (imported := _place(file, target)) is not None:
                self.read(imported, path, depth + 1)
        note = f"cut to {FILE_CHARS:,} characters" if read.cut else ""
        self.found.append(replace(here, text=text, note=note))

    def _named(self, file: Path) -> str:
        if self.roots and file.is_relative_to(self.roots[0]):
            return file.relative_to(self.roots[0]).as_posix()
        home = Path.home()
        return f"~/{file.relative_to(home).as_posix()}" if file.is_relative_to(home) else str(file)


def imports_of(text: str) -> tuple[str, ...]:
    """The paths a file imports: each ``@path`` outside of code."""
    if "@" not in text:
        return ()
    from markdown_it import MarkdownIt  # deferred: the screen reads these files too, after its first paint

    # Parsing links and emphasis takes superlinear time on crafted text, and no path needs it.
    markdown = MarkdownIt("commonmark").disable(["link", "image", "emphasis"])
    texts = [
        "".join(
            each.content if each.type == "text" else "\n" if each.type.endswith("break") else " "
            for each in token.children or ()
        )
        for token in markdown.parse(text)
        if token.type == "inline"
    ]
    return mentions("\n".join(texts))


def _place(file: Path, target: str) -> Path | None:
    """The path an import refers to; None if there is no such file, for example if the word is no path."""
    path = Path(os.path.normpath(file.parent / from_home(target)))
    try:
        return path if path.is_symlink() or path.is_file() else None
    except (OSError, ValueError):
        return None


def _fitted(found: list[InstructionFile]) -> tuple[InstructionFile, ...]:
    """The files within the limit for all together; the user's own come first."""
    left = ALL_CHARS
    for at, file in sorted(enumerate(found), key=lambda each: (not each[1].own, -each[0])):
        if file.text and left <= 0:
            found[at] = replace(file, text="", note="left out: the others already fill the limit")
        elif len(file.text) > left:
            found[at] = replace(file, text=file.text[:left], note=f"cut to {left:,} characters")
        left -= len(found[at].text)
    return tuple(found)


def instructions_text(files: Sequence[InstructionFile], intro: str = PROMPTS[TAG]) -> str:
    """The files as the model reads them; empty if there are none."""
    sections = [
        f"## {file.path}{f' ({file.about})' if file.about else ''}\n{file.text}"
        for file in files
        if file.text
    ]
    return tagged(TAG, "\n\n".join(filter(None, (intro, *sections)))) if sections else ""


_SUMMARY_HEAD = re.compile(r"(#{1,6})\s+(summary|compact|compaction) instructions\s*#*\s*", re.IGNORECASE)
_HEAD = re.compile(r"(#{1,6})\s")
_FENCE = re.compile(r"\s{0,3}(```|~~~)")
SUMMARY_CHARS = 4_000
"""Maximum characters of them added to a summary request."""


def summary_instructions(files: Sequence[InstructionFile]) -> str:
    """The files' instructions for summaries: the text of each section *Summary instructions*."""
    lines: list[str] = []
    for file in files:
        level = 0
        fenced = False
        for line in file.text.splitlines():
            fenced ^= bool(_FENCE.match(line))
            head = None if fenced else _HEAD.match(line)
            if head and (not level or len(head[1]) <= level):
                level = len(head[1]) if _SUMMARY_HEAD.fullmatch(line) else 0
            elif level and line.strip():
                lines.append(line.rstrip())
    return "\n".join(lines)[:SUMMARY_CHARS]


_NAMED = 5
"""Maximum names listed per kind; of the rest, only the number."""


@frozen
class Brought:
    """What applies in a folder only once the user trusts it."""

    named: Mapping[str, Sequence[str]]
    """Names by kind."""

    def rows(self) -> list[tuple[str, str]]:
        """Each kind that has names, with the names as text."""
        return [(kind, _some(names)) for kind, names in self.named.items() if names]

    @property
    def notice(self) -> str:
        """A sentence that they are ignored; empty if there are none."""
        if not (rows := self.rows()):
            return ""
        kinds = [f"{kind} ({names})" for kind, names in rows]
        listed = " and ".join(filter(None, (", ".join(kinds[:-1]), kinds[-1])))
        return f"This folder is not trusted, so these are ignored here: {listed}."


def _some(names: Sequence[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def brought_by(
    folder: Path,
    config: Path,
    may_read: MayRead,
    *,
    instructed: bool,
    rules: Sequence[str] = (),
    commands: Sequence[str] = (),
) -> Brought:
    """Find what a folder would bring. Reads its files.

    Args:
        folder: The working folder.
        config: The user's folder of settings.
        may_read: Applies the rules to a file.
        instructed: Whether instructions would be followed at all.
        rules: Rules in the user's settings that let tools run without asking.
        commands: Names of its commands.
    """
    files = [file.path for file in read_instructions(folder, may_read) if file.text] if instructed else []
    skills = [skill.name for skill in find_skills(folder, config, may_read).found if skill.place == "project"]
    agents = [each.name for each in find_agents(folder, config, may_read).found if each.place == "project"]
    kinds = {"instructions": files, "skills": skills, "commands": commands, "agents": agents}
    return Brought({**kinds, "your rules": rules})
