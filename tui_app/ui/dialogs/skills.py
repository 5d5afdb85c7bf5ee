"""Skills: what there is for the model to load, where from, and which the conversation has loaded."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual.content import Content
from textual.types import CSSPathType

from tui_app.conversation.message_actions import SkillRow
from tui_app.ui.chat.session import ChatSession
from tui_app.ui.dialogs.base import DetailsScreen
from tui_app.ui.dialogs.filter import FilterDialog
from tui_app.ui.dialogs.mcp import overview
from tui_app.ui.keys import Hint
from tui_app.ui.text import one_line

if TYPE_CHECKING:
    from tui_app.ui.host import Host

NONE = (
    "There is no skill. Put one in .plimsoll/skills/NAME/SKILL.md; docs/instructions-and-skills.md says how."
)
_NAME_CELLS, _STATE_CELLS = 24, 10


def skill_line(row: SkillRow, width: int) -> Content:
    """One row: name, whether it is in use, what it is for."""
    name = one_line(row.name, _NAME_CELLS - 1)
    padded = name + " " * (_NAME_CELLS - Content(name).cell_length)
    state = "in use" if row.in_use else row.place
    room = max(8, width - _NAME_CELLS - _STATE_CELLS)
    return Content.assemble(
        (padded, "bold"),
        (f"{state:<{_STATE_CELLS}}", "$text-success" if row.in_use else "$text-muted"),
        one_line(row.description, room),
    )


class SkillsScreen(FilterDialog[SkillRow, str]):
    """Dismisses with the file of the skill to read, or ``None``."""

    CSS_PATH: ClassVar[CSSPathType | None] = ["../styles/dialog.tcss", "../styles/skills.tcss"]
    HINTS: ClassVar[tuple[Hint, ...]] = (
        Hint("enter", "read it", 1),
        Hint("up/down", "choose", 2),
        Hint("esc", "close", 0, "screen.close"),
    )
    NAME = "skills"
    PLACEHOLDER = "filter by name or purpose"
    CLASSES_OF_BOX = "dialog -full"
    LEAST = 40

    def __init__(
        self, rows: Sequence[SkillRow], refused: Sequence[str] = (), *, folder: Path | None = None
    ) -> None:
        """List skills.

        Args:
            rows: All there are.
            refused: What is no usable skill, and why.
            folder: Files in it are named from there on; None names each from the root.
        """
        super().__init__()
        self._folder = folder
        self._in_use, self._refused = sum(row.in_use for row in rows), tuple(refused)
        self.offer(rows)

    @property
    def title_text(self) -> str:
        """Says how many there are."""
        return f"Skills · {self.how_many} · {self._in_use} in use"

    def text_of(self, row: SkillRow) -> str:
        """Name and purpose."""
        return f"{row.name} {row.description}"

    def line(self, row: SkillRow, width: int) -> Content:
        """See :func:`skill_line`."""
        return skill_line(row, width)

    @property
    def nothing(self) -> str:
        """That there is none, or none that fits, and what is no usable one."""
        return "\n".join(["No skill has that." if self.total else NONE, *self._told])

    @property
    def _told(self) -> list[str]:
        return [one_line(text, 300) for text in self._refused[:3]]

    def explain(self, row: SkillRow) -> None:
        """The marked skill in full."""
        lines = [one_line(row.description, 500), one_line(self._named(row.file), 300), *self._told]
        self.note("\n".join(lines))

    def _named(self, file: str) -> str:
        path = Path(file)
        if self._folder is None or not path.is_relative_to(self._folder):
            return file
        return str(path.relative_to(self._folder))

    def use(self, row: SkillRow) -> None:
        """Dismiss with the file to read."""
        self.dismiss(row.file)


# Listing them, and reading one.

_LONGEST = 200_000


async def show_skills(app: "Host", session: ChatSession) -> None:
    """List the skills; one that is chosen is shown in full."""
    all_of_it = await overview(session)
    folder = session.launch.cwd.resolve()
    chosen = await app.push_screen_wait(SkillsScreen(all_of_it.skills, all_of_it.refused, folder=folder))
    if chosen:
        await app.push_screen_wait(DetailsScreen("Skill", await asyncio.to_thread(_text, Path(chosen))))


def _text(file: Path) -> str:
    try:
        with file.open("rb") as stream:
            return stream.read(_LONGEST).decode("utf-8", "replace")
    except OSError as error:
        return f"{file} cannot be read: {error.strerror}."
