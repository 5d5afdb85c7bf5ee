"""What the command line decided: the settings, where things are kept, and which session to open."""

import gc
from collections.abc import Callable, Mapping
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tui_app.api_keys import ApiKeys
from tui_app.conversation.open_request import Opening
from tui_app.modes import Mode
from tui_app.paths import Paths
from tui_app.records import frozen
from tui_app.session.database import Database, database_of
from tui_app.settings import Settings, resolve_model

if TYPE_CHECKING:
    from pydantic_ai.models import Model

    from tui_app.demo.stage import Stage


class Outside(NamedTuple):
    """Where the demo was begun from."""

    launch: "Launch"
    session: str
    """Its id; empty where nothing had been said in it."""


@frozen(kw_only=True)
class Launch:
    """What the command line decided."""

    settings: Settings
    paths: Paths
    env: Mapping[str, str] = field(repr=False)
    cwd: Path
    session: str = ""
    """Id of the session to go on with; empty begins a new one."""
    model: str = ""
    policy: str = ""
    """One asked for on the command line; it ranks above what was chosen in a session before."""
    effort: str = ""
    """How much the model is to think, if that was asked for on the command line."""
    mode: Mode | None = None
    """One asked for on the command line, as with the policy."""
    agent: str = ""
    """The user's own agent as ``module:attribute``; empty is ours."""
    flags: Mapping[str, object] = field(default_factory=dict)
    """Settings given on the command line, None for one that was not: they rank above the file."""
    pick_session: bool = False
    """Open the list of sessions first."""
    trust: bool = False
    """Whether the folder is trusted for this start, whatever was answered before."""
    add_dirs: tuple[Path, ...] = ()
    """Further folders that tools may read and write in."""
    notice: str = ""
    """What is to be said at the start."""
    keys: ApiKeys | None = field(default=None, repr=False)
    """Where keys are looked up, those typed in here included; None makes it from ``env``."""
    stage: "Stage | None" = None
    """Where the demo plays; None outside of it."""
    outside: Outside | None = None
    """Where leaving the demo leads; None ends the program."""

    def __post_init__(self) -> None:
        """Keep one place for keys however often the launch is copied."""
        if self.keys is None:
            object.__setattr__(self, "keys", ApiKeys(self.env, self.paths))

    @property
    def api_keys(self) -> ApiKeys:
        return self.keys if self.keys is not None else ApiKeys(self.env, self.paths)

    @property
    def database(self) -> Database:
        return database_of(self.settings.store, self.paths.database)

    @property
    def first_model(self) -> str:
        """Name of the model that a new session begins with."""
        return self.model or resolve_model(self.settings, self.env, self.api_keys.names)

    def opening(self, session: str = "") -> Opening:
        """The same launch as a request for a session; empty begins a new one.

        A model or policy given on the command line is for the session opened first and for new ones.
        """
        asked_here = session in ("", self.session)
        return Opening(
            settings=self.settings,
            paths=self.paths,
            env=self.env,
            cwd=self.cwd,
            session=session,
            model=self.model if asked_here else "",
            policy=self.policy if asked_here else "",
            effort=self.effort if asked_here else "",
            mode=self.mode if asked_here else None,
            agent=self.agent,
            attended=True,
            keys=self.api_keys,
            trust=self.trust,
            add_dirs=self.add_dirs,
            models=self._models,
        )

    @property
    def _models(self) -> "Callable[[], Mapping[str, Model[Any]]] | None":
        if (stage := self.stage) is None:
            return None

        def scripted() -> "Mapping[str, Model[Any]]":
            from tui_app.demo.script import models

            return models(stage.pace)

        return scripted


def started() -> None:
    """Collect garbage again, except what was loaded so far: that stays for good."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()


def begun_elsewhere(begun: str, here: Path) -> str:
    """Say that a session goes on in another folder than its own; empty where it does not.

    Args:
        begun: Its own folder.
        here: The folder it goes on in.
    """
    if not begun or Path(begun).resolve() == here.resolve():
        return ""
    return f"This session was started in {begun}; it continues in {here}."
