"""What is needed to open a session; light, so that the screen can ask before the agent side is loaded."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tui_app.api_keys import ApiKeys
from tui_app.paths import Paths
from tui_app.session.database import Database, database_of
from tui_app.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """What is needed to open a session, or to begin one."""

    settings: Settings
    paths: Paths
    env: Mapping[str, str] = field(repr=False)
    keys: ApiKeys = field(repr=False)
    """The environment with the keys that are not in it; one for all: it remembers what it reads."""
    cwd: Path
    session: str = ""
    """Id of the session to go on with; empty begins a new one."""
    model: str = ""
    """Overrides the session's or the settings' model."""
    policy: str = ""
    """Overrides the policy chosen in the session, or the one that is set."""
    agent: str = ""
    """The user's own agent as ``module:attribute``; empty is ours."""
    attended: bool = False
    """Whether a user can be asked before a tool changes something; else what asks is denied."""
    allow: tuple[str, ...] = ()
    """Rules given for this opening alone: what tools may do without being asked about."""
    yes: bool = False
    """Whether everything that asks goes ahead where nobody can be asked."""
    passing: bool = False
    """The model is for this opening alone: the session goes on with its own afterwards."""

    @property
    def database(self) -> Database:
        return database_of(self.settings.store, self.paths.database)
