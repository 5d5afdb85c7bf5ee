"""What settings say of approvals: which calls of tools may go ahead, which are asked about, which never.

A rule is written ``TOOL`` or ``TOOL PATTERN``: ``write_file docs/**``, ``run_command pytest -q``. Like hooks,
rules stand in the person's own settings file and nowhere else: a project must not loosen what it is held to.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from tui_app.settings.rules import Group, Refused, parse_toml, show
from tui_app.tool_specs import EDIT_FILE, RUN_COMMAND, WRITE_FILE

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
        """See ``Rule``."""
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


class ApprovalTable(NamedTuple):
    """A table that the environment cannot give."""

    group: Group

    def check(self, value: object) -> dict[str, object]:
        """See ``Rule``."""
        return self.group.check(value)

    def read(self, text: str) -> dict[str, object]:
        """See ``Rule``."""
        raise Refused(show(text), "only in the settings file, because rules let tools write and run")


APPROVALS = ApprovalTable(
    Group({ruling: _Rules(ruling) for ruling in ("allow", "ask", "deny", "looks")}, called="ruling")
)


def rules_of(
    table: Mapping[str, tuple[str, ...]], source: RuleSource = "settings"
) -> tuple[ApprovalRule, ...]:
    """The rules of a checked table, those that win first."""
    return tuple(parse_rule(ruling, text, source) for ruling in RULINGS for text in table.get(ruling, ()))
