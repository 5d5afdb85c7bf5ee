"""Decisions of the reversible stages: new forms of messages, files to write, and the resulting view."""

from collections.abc import Sequence
from dataclasses import field, replace
from typing import Literal

from pydantic_ai.messages import ModelMessage

from tui_app.context.counting.expenses import Spent
from tui_app.context.views.cuts import safe_cuts
from tui_app.context.views.view import Item
from tui_app.events import Stage
from tui_app.records import frozen


@frozen(kw_only=True)
class Change:
    """The new form of one message. Role, tool names and call ids are unchanged."""

    key: int
    """Key of the item, which is unchanged."""
    message: ModelMessage
    note: str = ""
    """What was done, for the user: a path, a length."""


@frozen(kw_only=True)
class SpillFile:
    """A file that must be on disk before the view refers to it."""

    name: str
    """Path relative to the session's folder, such as ``tool_outputs/grep_20260101_120000_ab12cd34.txt``."""
    text: str


@frozen(kw_only=True)
class Digest:
    """The digest of archived results, and its cost."""

    text: str = ""
    """Empty if none was written."""
    performed_by: Literal["model", "heuristic"] = "model"
    model: str = ""
    """Name of the model called, even if it failed; empty when none was."""
    spent: Spent = field(default_factory=Spent)


@frozen(kw_only=True)
class Rewrite:
    """One stage's decision for one pass over the view."""

    stage: Stage
    changes: tuple[Change, ...]
    files: tuple[SpillFile, ...] = ()
    digest: ModelMessage | None = None
    """A message for the model only that replaces archived results, after the last changed one."""
    written: Digest | None = None
    """Author and cost of the digest; None without one."""
    policy: str = ""
    """Name of the policy that requires it."""


def rewritten_items(items: Sequence[Item], rewrite: Rewrite, digest_key: int) -> list[Item]:
    """Return the view with the new forms, and the digest at the first safe cut after them.

    The reported usage of responses is dropped, because it was for another view.
    """
    new = {change.key: change.message for change in rewrite.changes}
    wholes = {id(item.whole) for item in items if item.key in new and item.whole is not None}
    done = [
        # Sections of a message that is no longer whole become independent.
        replace(item, message=new.get(item.key, item.message), whole=None, reported=0)
        if item.key in new or id(item.whole) in wholes
        else replace(item, reported=0)
        for item in items
    ]
    if rewrite.digest is None:
        return done
    last = max(place for place, item in enumerate(done) if item.key in new)
    safe = safe_cuts(done)
    place = next(place for place in range(last + 1, len(safe)) if safe[place])
    return [*done[:place], Item(digest_key, rewrite.digest), *done[place:]]
