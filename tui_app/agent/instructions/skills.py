"""Skills: folders with a ``SKILL.md``, whose text the model loads when it needs it."""

import re
from collections.abc import Callable
from pathlib import Path

from tui_app.agent.instructions.agent_files import BODY_CHARS, DescribedFile, heading
from tui_app.records import frozen
from tui_app.system.project_files import (
    MayRead,
    NearestFiles,
    anything,
    entries,
    read_document,
    read_inside,
    read_nearest,
)

FILE = "SKILL.md"

FOLDERS = (".plimsoll/skills", ".claude/skills")

MOST = 64

_SHOWN_FILES = 40

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")


@frozen(kw_only=True)
class Skill(DescribedFile):
    """One skill as it is listed."""

    @property
    def folder(self) -> Path:
        """The folder with the skill and its further files."""
        return self.file.parent


Skills = NearestFiles[Skill]


def find_skills(folder: Path | None, config: Path, may_read: MayRead = anything) -> Skills:
    """Find skills. Those nearest to the working folder take precedence, the user's own come last.

    Args:
        folder: The working folder; None for only the user's own.
        config: The user's folder of settings.
        may_read: Applies the rules to a file.
    """
    return read_nearest(
        (folder, config), FOLDERS, "skills", lambda file, root: _listed(file, root, may_read), MOST, FILE
    )


def _listed(file: Path, root: Path | None, may_read: MayRead) -> Skill | None:
    read = read_inside(file, root, BODY_CHARS, may_read)
    if read is None:
        return None
    values = read_document(read.text).values
    name, description = heading(values, file.parent.name, _NAME, "dots, dashes and underscores")
    return Skill(name=name, description=description, file=file, root=root, may_read=may_read)


def use_skill(skills: Callable[[], Skills], name: str) -> str:
    """The text the model gets when it loads a skill.

    Raises:
        Refused: if there is none of that name, or it cannot be read.
    """
    skill = skills().get(name, "skill")
    siblings = [
        each.name + ("/" if each.is_dir() else "")
        for each in entries(skill.folder, skill.root)
        if each.name != FILE
    ]
    more = f"\n\nBeside it in {skill.folder}: {', '.join(siblings[:_SHOWN_FILES])}" if siblings else ""
    return f"# Skill {skill.name}\n\n{skill.body()}{more}"
