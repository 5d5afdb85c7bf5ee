"""Launch options: the settings, where things are stored, and which session to open."""

import gc
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from dataclasses import field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tui_app.conversation.requests.open_request import Opening
from tui_app.records import frozen
from tui_app.settings import resolve_model

if TYPE_CHECKING:
    from pydantic_ai.models import Model

    from tui_app.demo.stage import Stage


class DemoOrigin(NamedTuple):
    """The session that the demo was started from."""

    launch: "Launch"
    session: str
    """Its id; empty if it had no messages."""


@frozen(kw_only=True)
class Launch(Opening):
    """The options decided by the command line: what to open, and what else the screen needs."""

    flags: Mapping[str, object] = field(default_factory=dict)
    """Settings given on the command line, None for those not given; they take precedence over the file."""
    pick_session: bool = False
    """Whether to open the list of sessions first."""
    notice: str = ""
    """A notice to show at the start."""
    stage: "Stage | None" = None
    """The demo's stage; None outside of it."""
    outside: DemoOrigin | None = None
    """Where leaving the demo leads; None quits."""

    @property
    def first_model(self) -> str:
        """Name of the model that a new session starts with."""
        return self.model or resolve_model(self.settings, self.env, self.keys.names)

    def opening(self, session: str = "") -> Opening:
        """Return the launch as a request for a session; empty starts a new one.

        A model or policy given on the command line applies to the session opened first and to new ones.
        """
        options = {each.name: getattr(self, each.name) for each in fields(Opening)}
        if session not in ("", self.session):
            options |= {"model": "", "policy": "", "effort": "", "mode": None}
        if (stage := self.stage) is not None:

            def scripted() -> "Mapping[str, Model[Any]]":
                from tui_app.demo.script import models

                return models(stage.pace)

            options |= {"models": scripted}
        return Opening(**options | {"session": session, "attended": True, "goes_on": True})


def launch_of(launch: Launch, session: str) -> Launch:
    """Return the launch in a session's own folder, if it runs in a worktree or is opened from one."""
    from tui_app.session.stores.database import open_store
    from tui_app.session.stores.store import SessionNotFound
    from tui_app.system.worktrees import is_in_worktree

    try:
        with closing(open_store(launch.database, read_only=True)) as store:
            cwd = Path(store.info(session).cwd)
    except (SessionNotFound, sqlite3.Error):  # a new one, or an error that opening it reports
        return launch
    moves = is_in_worktree(cwd) or (is_in_worktree(launch.cwd) and cwd.is_dir())
    return replace(launch, cwd=cwd) if moves else launch


def resume_collection() -> None:
    """Turn garbage collection on again, exempting everything loaded so far."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()


def folder_notice(begun: str, here: Path) -> str:
    """Return a note that a session continues in another folder than its own; empty if it does not.

    Args:
        begun: Its own folder.
        here: The folder it continues in.
    """
    if not begun or Path(begun).resolve() == here.resolve():
        return ""
    return f"Started in {begun}. Continuing in {here}."
