"""The tables of the settings file: approvals, policies, hooks, MCP servers and themes."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, field
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from tui_app.paths import from_home
from tui_app.records import frozen
from tui_app.settings.rules import (
    FOLDER,
    VARIABLE,
    Address,
    Choice,
    FileOnly,
    Flag,
    Group,
    Items,
    Number,
    Refused,
    Rule,
    Table,
    Text,
    flag,
    free_name,
    group_of,
    name_of,
    setting,
    show,
    variable_name,
)
from tui_app.system.project_files import repository_root
from tui_app.tool_specs import EDIT_FILE, RUN_COMMAND, TOOLS, WRITE_FILE
from tui_app.tool_specs import WEB_FETCH as WEB_FETCH_TOOL

Ruling = Literal["allow", "ask", "deny", "looks"]
RuleSource = Literal["built in", "settings", "repository", "session", "command line"]
RULINGS: tuple[Ruling, ...] = ("deny", "ask", "allow", "looks")
"""Rulings by precedence, highest first. ``looks`` allows a tool in read-only mode too."""
_RULE_EXAMPLE = f'"{RUN_COMMAND.name} pytest -q"'
SHELL_SIGNS = frozenset("|&;<>()$`\\\n\r*?[]#~!{}\"'\0")
"""Characters that make a command more than its words, so that no pattern allows it."""
LONGEST_RULE = 500
"""Characters."""
_RULED_TOOL = re.compile(r"[\w*?.-]{1,100}")
WEB_FETCH = ("off", "public", "any")
"""Whether the model may fetch web pages: not at all, from public addresses, or also from this machine."""


@frozen
class ApprovalRule:
    """One rule about tool calls."""

    ruling: Ruling
    tool: str
    """Name of a tool, or a pattern as in file names."""
    pattern: str = ""
    """Path pattern, command line, or host of an address; empty matches every call of the tool.

    For a command, ``= git log -3`` matches only that line, ``git log …`` all with this prefix, as does ``git
    log``.
    """
    source: RuleSource = "settings"

    @property
    def text(self) -> str:
        return f"{self.tool} {self.pattern}".rstrip()


def parse_rule(ruling: Ruling, text: object, source: RuleSource = "settings") -> ApprovalRule:
    """Parse a rule.

    Raises:
        Refused: if it is invalid, or could never allow anything.
    """
    allowed = f'a tool, then a pattern: {_RULE_EXAMPLE}, "{WRITE_FILE.name} docs/**", "{EDIT_FILE.name}"'
    if not isinstance(text, str) or not text.isprintable() or not 0 < len(text) <= LONGEST_RULE:
        raise Refused(show(text), allowed)
    tool, _, pattern = text.strip().partition(" ")
    if not _RULED_TOOL.fullmatch(tool):
        raise Refused(show(text), allowed)
    pattern = pattern.strip()
    is_exact = pattern.startswith("= ")
    if ruling == "allow" and tool == RUN_COMMAND.name and not is_exact and SHELL_SIGNS & set(pattern):
        allowed = 'the first words of a command, without shell syntax, or "= " and a whole line'
        raise Refused(show(text), allowed)
    if pattern and tool == WEB_FETCH_TOOL.name:
        # Only for a rule about hosts: rules are read at each start.
        from tui_app.system.hosts import parse_host_rule

        if parse_host_rule(pattern) is None:
            allowed = (
                'a host: "docs.example.org", "*.example.org", "localhost:8080", "[::1]", "http://example.org"'
            )
            raise Refused(show(text), allowed)
    if ruling == "looks" and pattern:
        raise Refused(show(text), 'the name of a tool that only looks, and nothing after it: "my_tool"')
    return ApprovalRule(ruling, tool, pattern, source)


class _RuleText(NamedTuple):
    """A rule with one ruling, as text."""

    ruling: Ruling

    def check(self, value: object) -> object:
        parse_rule(self.ruling, value)
        return value


_LISTS: dict[str, Rule] = {
    ruling: Items(_RuleText(ruling), f"a list such as [{_RULE_EXAMPLE}]") for ruling in get_args(Ruling)
}
REPOSITORIES = "repositories"
"""Key of the table with rules for single repositories, each by the path of its root."""
APPROVALS = FileOnly(
    Group(
        _LISTS
        | {
            REPOSITORIES: Table(
                Group(_LISTS, called="ruling"), Text(r"(?:[~/]|[A-Za-z]:).*", "the path of a repository")
            )
        },
        called="ruling",
    ),
    "rules let tools write and run",
    by_command=True,
)


def rules_of(table: Mapping[str, Any], root: Path | None = None) -> tuple[ApprovalRule, ...]:
    """Return the rules of a checked table, in order of precedence.

    Args:
        table: Lists by ruling, and those of repositories.
        root: The repository that they are for; None for those of every repository.
    """
    owned: Mapping[str, Mapping[str, Sequence[str]]] = table.get(REPOSITORIES, {})
    tables: list[tuple[RuleSource, Mapping[str, Any]]] = [("settings", table)]
    tables += [("repository", owned[name]) for name in (owned if root is None else tables_of(table, root))]
    return tuple(
        parse_rule(ruling, text, source)
        for ruling in RULINGS
        for source, lists in tables
        for text in lists.get(ruling, ())
    )


def tables_of(table: Mapping[str, Any], root: Path) -> tuple[str, ...]:
    """Return the names of the tables with one repository's rules, resolving links and ``~``."""
    real = root.resolve()
    return tuple(name for name in table.get(REPOSITORIES, {}) if from_home(name).resolve() == real)


UNLESS_YOURS = "Such a rule does nothing, unless your own agent (--agent) has a tool of that name."
_WILD = "*?["


def misnamed(rule: ApprovalRule, servers: Collection[str]) -> str:
    """Return what is wrong with the tool name in a rule.

    Tools of servers are known only once they run, those of the user's own agent only with that agent: this is
    a hint and no error. Rules with ``looks`` are only about such tools.

    Args:
        rule: The rule.
        servers: Names of the servers in the settings; their tools begin with one.

    Returns:
        A sentence; empty if the name may be valid.
    """
    if rule.ruling == "looks" or any(fnmatchcase(tool, rule.tool) for tool in TOOLS):
        return ""
    fixed = rule.tool[: min((rule.tool.find(sign) for sign in _WILD if sign in rule.tool), default=None)]
    wild = fixed != rule.tool
    prefixes = [f"{server}_" for server in servers]
    if any(fixed.startswith(prefix) or (wild and prefix.startswith(fixed)) for prefix in prefixes):
        return ""
    near = get_close_matches(rule.tool.lower(), sorted(TOOLS), 1)
    return f"No tool is called {rule.tool}{f': is {near[0]} meant?' if near else '.'}"


POLICY_SHARES: Mapping[str, tuple[float, float]] = {
    "plimsoll": (0.8, 0.95),
    "sliding-window": (0.8, 0.95),
    "reserve": (0.8, 0.95),
    "background": (0.8, 0.95),
    "progressive": (0.95, 0.95),
    "off": (0.8, 0.95),
}
"""The two thresholds of each built-in policy: background and blocking."""
POLICIES = tuple(POLICY_SHARES)
SHARE = Number(0.01, 1.0, "a share of the window from 0.01 to 1.0, such as 0.8")
POLICY = name_of("policy")


def free_text(longest: int) -> Text:
    """Return the rule for a text with any number of lines."""
    return Text(rf"[\s\S]{{0,{longest}}}", f"a text of at most {longest:,} characters")


@cache
def policy_keys() -> Group:
    from tui_app.context.policy import Key
    from tui_app.context.policy import policy_keys as declared

    def rule(key: Key) -> Rule:
        if key.longest:
            return free_text(key.longest)
        return Choice(key.words) if key.words else Number(*key.bounds) if key.bounds else Flag()

    return Group({name: rule(key) for name, key in declared().items()}, required=("base",))


class OwnPolicy:
    """A user's own policy: its keys one by one, then its two thresholds together."""

    @property
    def keys(self) -> Group:
        return policy_keys()

    def check(self, value: object) -> dict[str, object]:
        checked = self.keys.check(value)
        background, blocking = thresholds(checked)
        if background > blocking:
            key = "background_threshold" if "background_threshold" in checked else "blocking_threshold"
            other = f"blocking_threshold {blocking}" if key != "blocking_threshold" else ""
            limit = f"at most {other}" if other else f"at least background_threshold {background}"
            raise Refused(show(checked[key]), limit, key)
        return checked


_TAKEN_POLICIES = (*POLICIES, "all")
"""Names that are already in use."""
OWN_POLICIES = Table(OwnPolicy(), free_name(_TAKEN_POLICIES))


def thresholds(policy: Mapping[str, object]) -> tuple[float, float]:
    background, blocking = POLICY_SHARES[str(policy["base"])]
    own = policy.get("background_threshold", background), policy.get("blocking_threshold", blocking)
    return float(str(own[0])), float(str(own[1]))


TRIGGERS = (
    "manual", "background", "blocking", "turn_end", "overflow", "model_switch", "memory_pressure", "headless",
    "model",
)  # fmt: skip
"""Triggers of compactions."""
BEGINNINGS = ("new", "resume")
"""How a session may start."""
ENDINGS = ("done", "cancelled", "failed")
"""How a turn may end."""
WAITING = ("approval", "question", "review", "budget")
"""What may wait for the user."""
GUARDS = ("preCompact", "preTool", "userPrompt")
"""Hooks that may block what follows."""
HOOK_EVENTS: Mapping[str, tuple[str, ...] | None] = {
    "preCompact": TRIGGERS,
    "postCompact": TRIGGERS,
    "preTool": None,
    "postTool": None,
    "userPrompt": (),
    "turnEnd": ENDINGS,
    "waiting": WAITING,
    "stop": (),
    "sessionStart": BEGINNINGS,
    "sessionEnd": (),
}
"""Events of hooks, with the words allowed in ``match``; None for any word, for names of tools."""


@frozen(kw_only=True)
class Hook:
    """A command to run."""

    command: tuple[str, ...] | str
    """Program and arguments; a string is a line for the shell."""
    timeout_s: float = 60.0
    """Seconds before it is terminated."""
    match: tuple[str, ...] = ()
    """Patterns as in file names, one of which must match the trigger; empty matches all."""
    cwd: str = ""
    """Empty for the folder of the settings; a relative one starts at that of the session."""
    on_failure: Literal["ignore", "deny"] = "ignore"
    """Whether the guarded action is refused when it fails, times out or cannot be started."""

    @property
    def shell(self) -> bool:
        return isinstance(self.command, str)

    def fits(self, trigger: str) -> bool:
        return not self.match or any(fnmatchcase(trigger, pattern) for pattern in self.match)

    def to_json(self) -> dict[str, object]:
        """Return plain values, as in the settings file."""
        return {**asdict(self), "shell": self.shell}


class _Command(NamedTuple):
    """A program with its arguments, or a line for a shell."""

    allowed: str = 'a list such as ["notify-send", "compacted"], or with shell = true a string'

    def check(self, value: object) -> object:
        words = value if isinstance(value, list) else [value]
        # No program can be called with a NUL in an argument.
        right = all(isinstance(word, str) and "\0" not in word for word in words)
        if not words or not right or not str(words[0]).strip():
            raise Refused(show(value), self.allowed)
        return tuple(words) if isinstance(value, list) else value


class _Match(NamedTuple):
    """One pattern or several; if the words are known each must match one of them."""

    words: tuple[str, ...] | None

    def check(self, value: object) -> tuple[str, ...]:
        patterns = value if isinstance(value, list) else [value]
        for pattern in patterns:
            if not isinstance(pattern, str) or not pattern.strip() or not self._known(pattern):
                names = f'names of tools such as "{WRITE_FILE.name}" or "*_file", one or a list'
                known = f"{', '.join(self.words or ())}, one or a list"
                allowed = names if self.words is None else known if self.words else "nothing: leave it out"
                raise Refused(show(pattern), allowed)
        return tuple(patterns)

    def _known(self, pattern: str) -> bool:
        return self.words is None or any(fnmatchcase(word, pattern) for word in self.words)


def _one_way(checked: dict[str, Any]) -> dict[str, Any]:
    """Check that command and ``shell`` of a hook go together."""
    command, shell = checked["command"], checked.pop("shell", False)
    if isinstance(command, str) and not shell:
        raise Refused(
            show(command), 'a list such as ["sh", "check.sh"]; a string needs shell = true', "command"
        )
    if shell and not isinstance(command, str):
        raise Refused("true", "true only where command is a string", "shell")
    return checked


HOOKS = FileOnly(
    Group(
        {
            event: Items(
                Group(
                    {
                        "command": _Command(),
                        "shell": Flag(),
                        "timeout_s": Number(0.1, 3_600.0, "seconds from 0.1 to 3600"),
                        "match": _Match(words),
                        "cwd": FOLDER,
                        "on_failure": Choice(("ignore", "deny") if event in GUARDS else ("ignore",)),
                    },
                    required=("command",),
                    together=_one_way,
                ),
                "a list of tables, each below its own [[hooks.…]] in two brackets",
                is_numbered=True,
            )
            for event, words in HOOK_EVENTS.items()
        },
        called="event",
    ),
    "hooks are commands that run",
)


def build_hooks(checked: Mapping[str, list[dict[str, object]]]) -> dict[str, tuple[Hook, ...]]:
    return {event: tuple(Hook(**table) for table in tables) for event, tables in checked.items()}  # type: ignore[arg-type]


_SERVER_NAME = Text(
    r"[A-Za-z][A-Za-z0-9_-]{0,31}", "a letter, then up to 31 letters, digits, dashes or underscores"
)
HEADERS = Table(variable_name("value"), Text(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+", "the name of a header"))
"""Headers of requests, each with the variable that has its value."""
_OF_PROGRAMS, _OF_ADDRESSES = ("args", "env", "cwd"), ("headers_env",)


def _words(allowed: str) -> Items:
    return Items(Text(r"[^\0]*", allowed), allowed, are_words=True)


@frozen(kw_only=True)
class McpServer:
    """One server: a program with pipes, or an address."""

    name: str
    command: str = setting("", Text(r"[^\0]*\S[^\0]*", "a program, such as npx or /usr/bin/python3"))
    args: tuple[str, ...] = setting((), _words('a list such as ["-y", "some-server"]'))
    env: Mapping[str, str] = setting(
        {},
        Table(
            Text(r"[^\0]*", "a text, or $NAME for the value of a variable", secret_prone=True),
            Text(VARIABLE, "the name of a variable"),
        ),
    )
    """Variables of the program in addition to the few it needs; ``$NAME`` is replaced by one of Plimsoll's
    own.
    """
    cwd: str = setting("", FOLDER)
    """Empty for the folder of the settings; a relative one starts at that of the session."""
    url: str = setting("", Address())
    """Address of a streamable HTTP server."""
    headers_env: Mapping[str, str] = setting({}, HEADERS)
    """Headers of its requests, each with the environment variable that has its value."""
    enabled: bool = flag(True)
    instructions: bool = flag(True)
    """Whether the model gets the server's instructions."""
    project: str = setting("", FOLDER)
    """Folder of the only repository in which it is started; empty for everywhere."""
    required: bool = flag(False)
    """Whether no turn may begin without it."""
    tools: tuple[str, ...] | None = setting(None, _words('a list of names such as ["search", "fetch"]'))
    """Names of its allowed tools; None allows all."""
    timeout: float = setting(30.0, Number(0.1, 3_600.0, "seconds from 0.1 to 3600"))
    """Seconds it may take to start, and for each call."""
    given_env: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Variables from an editor; not a setting."""
    given_headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Headers from an editor; not a setting."""

    @property
    def where(self) -> str:
        """The program or the address, as the user wrote it."""
        return self.url or " ".join((self.command, *self.args))


def _one_kind(checked: dict[str, Any]) -> dict[str, Any]:
    """Check that a server is either a program or an address."""
    if ("command" in checked) == ("url" in checked):
        shown = "given with url" if "url" in checked else "missing"
        raise Refused(shown, "either command or url", "command")
    meant, others = ("command", _OF_PROGRAMS) if "url" in checked else ("url", _OF_ADDRESSES)
    for key in others:
        if key in checked:
            raise Refused("given", f"only for a server with {meant}", key)
    return checked


LANGUAGE_SERVERS = FileOnly(
    Table(Text(r"[^\0]*\S[^\0]*", "a command line such as pylsp --verbose, or off"), _SERVER_NAME),
    "language servers are commands that run",
)
MCP = FileOnly(
    Table(group_of(McpServer)._replace(together=_one_kind), _SERVER_NAME), "servers are commands that run"
)


DEFER_ABOVE = 0.1
"""Default share of the window that tools of MCP servers may take; see ``tools.defer_above``."""


_TOOLS = _words('a list of tools such as ["plan", "todo"]')
_DEFER = Number(0.0, 1.0, "a share of the window from 0 to 1; 0 for never")
TOOL_ROOM = Group({"off": _TOOLS, "search": _TOOLS, "defer_above": _DEFER})


def defer_above(values: Mapping[str, Any]) -> float:
    return float(values.get("defer_above", DEFER_ABOVE))


def servers_for(servers: Mapping[str, McpServer], folder: Path) -> dict[str, McpServer]:
    """Return the servers of a session: those of all projects, and those of its own."""
    root = repository_root(folder)

    def belongs(server: McpServer) -> bool:
        return not server.project or repository_root(from_home(server.project)) == root

    return {name: server for name, server in servers.items() if belongs(server)}


THEMES = (
    "plimsoll-dark", "plimsoll-light", "textual-dark", "textual-light", "nord", "gruvbox", "catppuccin-mocha",
    "dracula", "tokyo-night", "monokai", "flexoki", "catppuccin-latte", "catppuccin-frappe",
    "catppuccin-macchiato", "solarized-light", "solarized-dark", "rose-pine", "rose-pine-moon",
    "rose-pine-dawn", "atom-one-dark", "atom-one-light", "ansi-dark", "ansi-light",
)  # fmt: skip
"""Names of the colour themes: our own and Textual's."""
BASES = ("plimsoll-dark", "plimsoll-light")
"""Themes that a user's own can be based on."""
_COLOUR = Text(r"#(?:[0-9A-Fa-f]{3}){1,2}", "a colour such as #4fb3d9")
THEME = name_of("theme")
COLOURS: Mapping[str, str] = {
    "accent": "what can be acted on: keys, borders with focus, links",
    "warning": "near: a context that fills up",
    "error": "full, and what failed",
    "success": "what went well",
    "foreground": "text",
    "muted": "text that matters less",
    "background": "of the chat",
    "surface": "of dialogs and lists",
    "panel": "of inputs",
    "selection": "of the selected row",
    "border": "lines without focus, scroll bars",
}
"""Colours of ``[themes.NAME]`` and their purposes."""

OWN_THEMES = Table(
    Group({"base": Choice(BASES), **dict.fromkeys(COLOURS, _COLOUR)}, required=("base",), called="colour"),
    free_name(THEMES, "not the name of a built-in theme"),
)
