"""The request to open a session. Light, so that the screen can use it before the agent side is loaded."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from tui_app.api_keys import ApiKeys
from tui_app.modes import Mode, mode_named
from tui_app.paths import Paths, from_home
from tui_app.records import frozen
from tui_app.session.stores.database import Database, database_of
from tui_app.settings import Settings, resolve_model
from tui_app.settings.spec import STORE_VARIABLE
from tui_app.settings.tables import ApprovalRule, Ruling, rules_of
from tui_app.system.project_files import MayRead, repository_root
from tui_app.system.trust import ProgramPlace, trust_in

if TYPE_CHECKING:
    from pydantic_ai.models import Model

    from tui_app.agent.answer_schema import AnswerSchema
    from tui_app.agent.instructions.instructions import Brought
    from tui_app.agent.model_shelf import ModelShelf
    from tui_app.agent.tools.workspace import Workspace
    from tui_app.sandbox import Confinement
    from tui_app.system.environment import Secrets

ALLOWING: tuple[Ruling, ...] = ("allow", "looks")
"""Rulings by which a tool runs without asking."""


@frozen(kw_only=True)
class Opening:
    """Everything needed to open a session, or to start one."""

    settings: Settings
    paths: Paths
    env: Mapping[str, str] = field(repr=False)
    cwd: Path
    keys: ApiKeys = field(default=None, repr=False)  # type: ignore[assignment]  # made from env
    """Keys from the environment and from elsewhere. One object for all copies: it caches what it reads."""
    session: str = ""
    """Id of the session to continue; empty starts a new one."""
    model: str = ""
    """Overrides the model of the session or the settings."""
    policy: str = ""
    """Overrides the policy chosen in the session or the settings."""
    effort: str = ""
    """Overrides the reasoning effort chosen in the session or the settings."""
    mode: Mode | None = None
    """Overrides the session's last mode, or that of the settings."""
    agent: str = ""
    """The user's own agent as ``module:attribute``; empty for ours."""
    attended: bool = False
    """Whether a user can be asked for approval; if not, calls that need it are denied."""
    goes_on: bool = False
    """Whether to continue an unfinished turn and queued prompts of the session."""
    allow: tuple[str, ...] = ()
    """Rules for this opening only: what tools may do without asking."""
    guards: tuple[str, ...] = ()
    """Guards to set in the session, such as ``edits legacy/``."""
    tools: tuple[tuple[str, Literal["on", "off"]], ...] = ()
    """Tools to switch on or off in the session."""
    yes: bool = False
    """Whether to allow what would be asked where no user can be asked."""
    passing: bool = False
    """Whether the model is for this opening only: the session keeps its own."""
    models: "Callable[[], Mapping[str, Model[Any]]] | None" = field(default=None, repr=False)
    """Returns additional models by full name; called where the agent side loads."""

    answers: "AnswerSchema | None" = None
    """The schema of answers; None for free text."""
    trust: bool = False
    """Whether to trust the folder for this opening, whatever was answered before."""
    add_dirs: tuple[Path, ...] = ()
    """Further folders that tools may read and write, for this opening only."""

    def __post_init__(self) -> None:
        """Share one object for keys among all copies."""
        if getattr(self, "keys", None) is None:
            object.__setattr__(self, "keys", ApiKeys(self.env, self.paths))

    @property
    def added(self) -> tuple[Path, ...]:
        """Further folders that tools may read and write, including those of the settings."""
        return tuple(each for each in self._named if each.is_dir() and each != Path(each.anchor))

    @property
    def missing(self) -> tuple[Path, ...]:
        """Folders that should be added but cannot be."""
        return tuple(each for each in self._named if each not in self.added)

    @property
    def _named(self) -> tuple[Path, ...]:
        dirs = (each.strip() for each in self.settings.add_dirs.split(","))
        places = [*(self.cwd / from_home(each) for each in dirs if each), *self.add_dirs]
        top = self.cwd.resolve() if places else self.cwd
        found = dict.fromkeys(Path(os.path.realpath(each)) for each in places)
        return tuple(each for each in found if not each.is_relative_to(top))

    @property
    def trusted(self) -> bool:
        """Whether the user trusts the folder, as currently known."""
        return self.trust or trust_in(self.paths, self.env, self.cwd) is True

    @property
    def first_mode(self) -> Mode:
        """The mode of a new session. In an untrusted folder, no setting lets a tool act."""
        mode = self.mode or mode_named(self.settings.mode) or "ask"
        return "ask" if mode == "edit" and self.mode is None and not self.trusted else mode

    def model_for(self, known: str = "") -> str:
        """Name of the model to use: the requested one, the known one, or the default."""
        return self.model or known or resolve_model(self.settings, self.env, self.keys.names)

    def workspace(self, **more: Any) -> "Workspace":
        """The folders as the tools of a session see them.

        Args:
            more: What else they may read, or not.
        """
        from tui_app.agent.tools.workspace import Workspace

        return Workspace(self.cwd, closed=self.paths.own_folders, added=self.added, **more)

    @property
    def policies(self) -> tuple[str, ...]:
        from tui_app.conversation.requests.policies import policy_names

        return policy_names(self.settings)

    @property
    def _every_rule(self) -> tuple[ApprovalRule, ...]:
        return rules_of(self.settings.approvals, repository_root(self.cwd))

    @property
    def rules(self) -> tuple[ApprovalRule, ...]:
        """The applicable rules of the settings; in an untrusted folder, none that lets a tool act."""
        trusted = self.trusted
        return tuple(rule for rule in self._every_rule if trusted or rule.ruling not in ALLOWING)

    @property
    def allowances(self) -> tuple[str, ...]:
        """Rules of the settings by which tools would run without asking, as written."""
        return tuple(rule.text for rule in self._every_rule if rule.ruling in ALLOWING)

    def brought(self, commands: Sequence[str] = ()) -> "Brought":
        """What applies only if the folder is trusted. Reads its files.

        Args:
            commands: Names of its commands.
        """
        from tui_app.agent.instructions.instructions import Brought, brought_by

        if self.agent:
            return Brought({"commands": commands, "your rules": self.allowances})
        config, may_read, rules = self.paths.config, self.may_read(), self.allowances
        instructed = self.settings.project_instructions
        return brought_by(self.cwd, config, may_read, instructed=instructed, rules=rules, commands=commands)

    def may_read(self) -> MayRead:
        """The settings' rules for files that are read without the model asking for them."""
        from tui_app.agent.approvals.rules import judge
        from tui_app.conversation.attachments import file_gate

        rules = self._every_rule
        return file_gate(lambda action: judge(action, rules), self.cwd, self.paths.own_folders)

    def outward_env(self) -> dict[str, str]:
        """The part of our environment that commands and hooks see."""
        from tui_app.system.environment import for_programs

        return for_programs(self.env, self._named_keys, self.settings.pass_variables.split(","))

    def confinement(self, folders: Sequence[Path], temporary: Path) -> "Confinement | None":
        """The sandbox for programs started by the model; None if it is off. Blocks.

        Args:
            folders: Where they may write, the session's first. Real paths, resolved once.
            temporary: Their ``/tmp``.
        """
        from tui_app.sandbox import Confinement, find_sandbox

        if self.settings.sandbox == "off":
            return None
        return Confinement(
            workspace=folders[0],
            added=tuple(folders[1:]),
            home=Path.home().resolve(),
            search=self.env.get("PATH", ""),
            readable=(self.paths.config,),
            hidden=(self.paths.data, self.paths.state, self.paths.cache),
            temporary=temporary,
            network=self.settings.sandbox_network,
            sandbox=find_sandbox(),
        )

    def secrets(self) -> "Secrets":
        """Secrets to mask in every text."""
        from tui_app.system.environment import Secrets, keys_in

        fixed = keys_in(self.env, self._named_keys, self.settings.store)
        for server in self.settings.mcp.values():
            fixed |= keys_in({**server.env, **server.given_env})
            fixed |= keys_in(server.given_headers, server.given_headers)
        return Secrets(fixed, self.keys)

    @property
    def _named_keys(self) -> tuple[str, ...]:
        """Variables that contain keys according to the settings."""
        named = [endpoint.key_env for endpoint in self.settings.endpoints.values()]
        named += [name for each in self.settings.endpoints.values() for name in each.headers_env.values()]
        named += [name for server in self.settings.mcp.values() for name in server.headers_env.values()]
        return STORE_VARIABLE, *named

    def shelf(self, brought: "Mapping[str, Model[Any]] | None" = None) -> "ModelShelf":
        """A shelf that builds each model once, with what is known of its window.

        Args:
            brought: Models that already exist, by name.
        """
        from tui_app.agent.model_shelf import ModelShelf
        from tui_app.context.windows.learnt_models import LearntModels
        from tui_app.context.windows.window_limits import Limits

        limits = Limits(LearntModels(self.paths.learnt_file), setting=self.settings.window)
        ready = {**(brought or {}), **(self.models() if self.models is not None else {})}
        return ModelShelf(self.keys, self.settings.endpoints, limits, ready)

    def program_place(self, env: Mapping[str, str]) -> ProgramPlace:
        """Where hooks and MCP servers start.

        Args:
            env: The part of our environment they may see.
        """
        return ProgramPlace(own=self.paths.config, folder=self.cwd, env=env, trusted=self.trusted)

    @property
    def database(self) -> Database:
        return database_of(self.settings.store, self.paths.database)
