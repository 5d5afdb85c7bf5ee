"""What goes along from one session into the next: what nobody has sent, and what nobody has read."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tui_app.ui.screens.chat import ChatScreen


@dataclass(frozen=True, slots=True, kw_only=True)
class Carried:
    """What another session begins with."""

    draft: str = ""
    notices: tuple[str, ...] = ()
    """What was reported and not read."""


NOTHING = Carried()


def carried_from(leaving: "ChatScreen", lost: Iterable[str]) -> Carried:
    """What the next session begins with.

    Args:
        leaving: The chat that is left.
        lost: Prompts that the disk does not take: they go along where they can be seen.
    """
    draft = "\n".join(filter(None, (*lost, leaving.pane.prompt.editor.draft)))
    notices = leaving.session.unread if leaving.is_ready else leaving.carried.notices
    return Carried(draft=draft, notices=notices)
