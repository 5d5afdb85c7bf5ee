"""What a call of a tool would do, as a person is asked about it."""

from dataclasses import dataclass
from typing import Literal, Protocol

ActionKind = Literal["file", "command", "address", "other"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One call that wants to go ahead, with all that it was given: another call is another action."""

    tool: str
    kind: ActionKind
    subject: str
    """Path relative to the workspace, command line, address, or arguments as JSON."""
    detail: str = ""
    """What would change, as a unified diff, or more about it; plain text."""
    note: str = ""
    """In a few words what kind of change or command it is."""
    guarded: str = ""
    """Why no pattern may allow it; empty where patterns count."""
    call: str = ""
    """Id of the tool call."""
    looks: bool = False
    """Whether nothing is changed by it: it goes ahead unless a rule asks or denies."""
    like: tuple[str, ...] = ()
    """Tools that would show the same: what is asked or denied of them is asked or denied of this call too."""
    spelled: tuple[str, ...] = ()
    """Other names of the subject, such as that of a link: what is asked or denied by them counts too."""


class Gate(Protocol):
    """Stands in front of everything a tool changes."""

    async def __call__(self, action: Action) -> str:
        """Wait for a decision.

        Returns:
            Why the action must not be done, for the model to read; empty when it may.
        """
        ...
