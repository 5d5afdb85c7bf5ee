"""What settings say of approvals: which calls of tools may go ahead, which are asked about, which never.

A rule is written ``TOOL`` or ``TOOL PATTERN``: ``write_file docs/**``, ``run_command pytest -q``. Like hooks,
rules are read from the user's own settings file and nowhere else: a project must not loosen its own limits.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Literal, NamedTuple

from tui_app.settings.rules import FileOnly, Group, Refused, parse_toml, show
from tui_app.tool_specs import EDIT_FILE, RUN_COMMAND, TOOLS, WRITE_FILE

Ruling = Literal["allow", "ask", "deny", "looks"]
RuleSource = Literal["built in", "settings", "session", "command line"]
RULINGS: tuple[Ruling, ...] = ("deny", "ask", "allow", "looks")
"""What may be ruled; an earlier one wins over a later one. What looks is allowed, in read-only mode too."""
_EXAMPLE = f'"{RUN_COMMAND.name} pytest -q"'
SHELL_SIGNS = frozenset("|&;<>()$`\\\n\r*?[]#~!{}\"'\0")
"""With one of these in it a command is more than its words: no pattern allows it."""
LONGEST_RULE = 500
"""Characters."""
_TOOL = re.compile(r"[\w*?.-]{1,100}")
WEB_FETCH = ("off", "public", "any")
"""Whether the model may fetch web pages: not at all, from public addresses, or also from this machine."""


@dataclass(frozen=True, slots=True)
class ApprovalRule:
    """One rule about calls of tools."""

    ruling: Ruling
    tool: str
    """Name of a tool, or a pattern as in file names."""
    pattern: str = ""
    """Path pattern, first words of a command, or host of an address; empty fits every call of the tool."""
    source: RuleSource = "settings"

    @property
    def text(self) -> str:
        """As it is written."""
        return f"{self.tool} {self.pattern}".rstrip()


def parse_rule(ruling: Ruling, text: str, source: RuleSource = "settings") -> ApprovalRule:
    """Read a rule.

    Raises:
        Refused: if it is none, or could never allow anything.
    """
    allowed = f'a tool, then what of it: {_EXAMPLE}, "{WRITE_FILE.name} docs/**", "{EDIT_FILE.name}"'
    if not isinstance(text, str) or not text.isprintable() or not 0 < len(text) <= LONGEST_RULE:
        raise Refused(show(text), allowed)
    tool, _, pattern = text.strip().partition(" ")
    if not _TOOL.fullmatch(tool):
        raise Refused(show(text), allowed)
    pattern = pattern.strip()
    if ruling == "allow" and tool == RUN_COMMAND.name and SHELL_SIGNS & set(pattern):
        raise Refused(show(text), "the first words of a command, without signs that a shell reads")
    if ruling == "looks" and pattern:
        raise Refused(show(text), 'the name of a tool that only looks, and nothing behind it: "my_tool"')
    return ApprovalRule(ruling, tool, pattern, source)


class _Rules(NamedTuple):
    """Rules of one kind, in order."""

    ruling: Ruling

    def check(self, value: object) -> tuple[str, ...]:
        if not isinstance(value, list | tuple):
            raise Refused(show(value), f"a list such as [{_EXAMPLE}]")
        for each in value:
            parse_rule(self.ruling, each)
        return tuple(value)

    def read(self, text: str) -> tuple[str, ...]:
        """See ``Rule``. The text is a list as in TOML."""
        try:
            return self.check(parse_toml(f"value = {text}")["value"])
        except (ValueError, KeyError):
            raise Refused(show(text), f"a list such as [{_EXAMPLE}]") from None


APPROVALS = FileOnly(
    Group({ruling: _Rules(ruling) for ruling in ("allow", "ask", "deny", "looks")}, called="ruling"),
    "rules let tools write and run",
    by_command=True,
)


def rules_of(
    table: Mapping[str, tuple[str, ...]], source: RuleSource = "settings"
) -> tuple[ApprovalRule, ...]:
    """The rules of a checked table, those that win first."""
    return tuple(parse_rule(ruling, text, source) for ruling in RULINGS for text in table.get(ruling, ()))


UNLESS_YOURS = "Such a rule does nothing, unless an agent of yours (--agent) has a tool of that name."
_WILD = "*?["


def misnamed(rule: ApprovalRule, servers: Collection[str]) -> str:
    """What is wrong with the tool that a rule names.

    Tools of servers are known only once they run, those of the user's own agent only with that agent: this
    is a hint and no error. Rules about what looks are only about such tools.

    Args:
        rule: The rule.
        servers: Names of the servers in the settings; a tool of theirs begins with one.

    Returns:
        A sentence; empty where the name may be one.
    """
    if rule.ruling == "looks" or any(fnmatchcase(tool, rule.tool) for tool in TOOLS):
        return ""
    fixed = rule.tool[: min((rule.tool.find(sign) for sign in _WILD if sign in rule.tool), default=None)]
    wild = fixed != rule.tool
    for server in servers:
        prefix = f"{server}_"
        if fixed.startswith(prefix) or (wild and prefix.startswith(fixed)):
            return ""
    near = get_close_matches(rule.tool.lower(), sorted(TOOLS), 1)
    return f"No tool is called {rule.tool}{f': is {near[0]} meant?' if near else '.'}"
