"""What the command line decided: the settings, where things are kept, and which session to open."""

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
    """Where the demo was begun from."""

    launch: "Launch"
    session: str
    """Its id; empty where nothing had been said in it."""


@frozen(kw_only=True)
class Launch(Opening):
    """What the command line decided: what to open, and what the screen needs besides."""

    flags: Mapping[str, object] = field(default_factory=dict)
    """Settings given on the command line, None for one that was not: they rank above the file."""
    pick_session: bool = False
    """Open the list of sessions first."""
    notice: str = ""
    """What is to be said at the start."""
    stage: "Stage | None" = None
    """Where the demo plays; None outside of it."""
    outside: DemoOrigin | None = None
    """Where leaving the demo leads; None ends the program."""

    @property
    def first_model(self) -> str:
        """Name of the model that a new session begins with."""
        return self.model or resolve_model(self.settings, self.env, self.keys.names)

    def opening(self, session: str = "") -> Opening:
        """The same launch as a request for a session; empty begins a new one.

        A model or policy given on the command line is for the session opened first and for new ones.
        """
        wanted = {each.name: getattr(self, each.name) for each in fields(Opening)}
        if session not in ("", self.session):
            wanted |= {"model": "", "policy": "", "effort": "", "mode": None}
        if (stage := self.stage) is not None:

            def scripted() -> "Mapping[str, Model[Any]]":
                from tui_app.demo.script import models

                return models(stage.pace)

            wanted |= {"models": scripted}
        return Opening(**wanted | {"session": session, "attended": True, "goes_on": True})


def launch_of(launch: Launch, session: str) -> Launch:
    """The launch in the folder of a session that works apart, or that is gone to from such a folder."""
    from tui_app.session.stores.database import open_store
    from tui_app.session.stores.store import SessionNotFound
    from tui_app.system.worktrees import is_in_worktree

    try:
        with closing(open_store(launch.database, read_only=True)) as store:
            cwd = Path(store.info(session).cwd)
    except (SessionNotFound, sqlite3.Error):  # a new one; what is wrong is said when it is opened
        return launch
    return (
        replace(launch, cwd=cwd)
        if is_in_worktree(cwd) or (is_in_worktree(launch.cwd) and cwd.is_dir())
        else launch
    )


def resume_collection() -> None:
    """Collect garbage again, except what was loaded so far: that stays for good."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()


def folder_notice(begun: str, here: Path) -> str:
    """Say that a session goes on in another folder than its own; empty where it does not.

    Args:
        begun: Its own folder.
        here: The folder it goes on in.
    """
    if not begun or Path(begun).resolve() == here.resolve():
        return ""
    return f"Started in {begun}. Continuing in {here}."
