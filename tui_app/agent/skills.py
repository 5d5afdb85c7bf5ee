"""Skills: folders with a ``SKILL.md``; the model knows name and description, and can load the text."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tui_app.front_matter import read_document
from tui_app.project_files import Refused, entries, folders_of, read_inside

FILE = "SKILL.md"
FOLDERS = (".plimsoll/skills", ".claude/skills")
MOST = 64
DESCRIPTION_CHARS = 500
BODY_CHARS = 50_000
_SHOWN_FILES = 40
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_INTRO = (
    "Skills hold instructions for certain kinds of work. Where one fits what is asked, load it with "
    "`use_skill` before you begin."
)


@dataclass(frozen=True, slots=True)
class Skill:
    """One skill as it is listed."""

    name: str
    description: str
    file: Path
    place: Literal["project", "user"]
    root: Path | None = None
    """Folder that its file must not lead out of; None for the person's own."""

    @property
    def folder(self) -> Path:
        """Where it and what belongs to it stands."""
        return self.file.parent


@dataclass(frozen=True, slots=True)
class Skills:
    """All there are."""

    found: tuple[Skill, ...] = ()
    refused: tuple[str, ...] = ()
    """Sentences: what is no usable skill, and why."""

    def named(self, name: str) -> Skill | None:
        """The skill of that name."""
        return next((skill for skill in self.found if skill.name == name), None)


def find_skills(folder: Path, config: Path) -> Skills:
    """Look for skills: those nearest to the working folder win a name, the person's own come last.

    Args:
        folder: The working folder.
        config: The person's own folder of settings.
    """
    places = folders_of(folder)
    wanted: list[tuple[Path, Path | None]] = [
        (place / inner, places[0]) for place in reversed(places) for inner in FOLDERS
    ]
    found: dict[str, Skill] = {}
    refused: list[str] = []
    for parent, root in (*wanted, (config / "skills", None)):
        for entry in entries(parent, root):
            try:
                skill = _listed(entry / FILE, root)
            except Refused as why:
                refused.append(f"{entry / FILE} is not used: {why}.")
                continue
            if skill is not None and len(found) < MOST:
                found.setdefault(skill.name, skill)
    return Skills(tuple(found.values()), tuple(refused))


def _listed(file: Path, root: Path | None) -> Skill | None:
    read = read_inside(file, root, BODY_CHARS)
    if read is None:
        return None
    values = read_document(read.text).values
    name = values.get("name", "") or file.parent.name
    if not _NAME.fullmatch(name):
        raise Refused("its name has other signs than letters, digits, dots, dashes and underscores")
    description = " ".join(values.get("description", "").split())[:DESCRIPTION_CHARS]
    if not description:
        raise Refused("it has no description, so nobody could tell when to use it")
    return Skill(name, description, file, "user" if root is None else "project", root)


def skills_text(skills: Skills) -> str:
    """Names and descriptions as the model reads them; empty when there are none."""
    if not skills.found:
        return ""
    lines = [
        f"- {skill.name}: {skill.description.replace('</skills', '< /skills')}" for skill in skills.found
    ]
    return "\n".join(["<skills>", _INTRO, *lines, "</skills>"])


def skill_body(skill: Skill) -> str:
    """The instructions of a skill. Raises ``Refused`` where they cannot be read any more."""
    read = read_inside(skill.file, skill.root, BODY_CHARS)
    if read is None:
        raise Refused("its file is gone")
    cut = f"\n\n[Cut: the file is longer than {BODY_CHARS:,} characters.]" if read.cut else ""
    return read_document(read.text).body + cut


def use_skill(skills: Callable[[], Skills], name: str) -> str:
    """What the model gets when it loads a skill.

    Raises:
        Refused: if there is none of that name, or it cannot be read.
    """
    skill = skills().named(name)
    if skill is None:
        names = ", ".join(each.name for each in skills().found) or "none"
        raise Refused(f"There is no skill {name!r:.80}. There are: {names}")
    beside = [
        each.name + ("/" if each.is_dir() else "")
        for each in entries(skill.folder, skill.root)
        if each.name != FILE
    ]
    more = f"\n\nBeside it in {skill.folder}: {', '.join(beside[:_SHOWN_FILES])}" if beside else ""
    return f"# Skill {skill.name}\n\n{skill_body(skill)}{more}"
