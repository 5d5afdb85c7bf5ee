"""Rulings of approval rules on an action: allow, ask or deny, with the reason."""

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Protocol

from tui_app.agent.approvals.command_line import (
    ANYWHERE,
    MORE,
    NOTHING,
    Folder,
    allowance,
    command_prefix_length,
    exact_pattern,
    plain_commands,
    without_more,
)
from tui_app.agent.approvals.denials import Found, find_in
from tui_app.agent.instructions.path_patterns import PathPattern, compile_path, expand_braces
from tui_app.modes import Mode
from tui_app.records import frozen
from tui_app.settings.tables import LONGEST_RULE, RULINGS, ApprovalRule, Ruling
from tui_app.system.hosts import origin_of, parse_host_rule
from tui_app.tool_specs import FILE_CHANGERS, ActionKind


@frozen(kw_only=True)
class Action:
    """One call that needs a decision, with all its arguments: another call is another action."""

    tool: str
    kind: ActionKind
    subject: str
    """Path relative to the workspace, command line, address, or arguments as JSON."""
    detail: str = ""
    """What would change, as a unified diff, or further details; plain text."""
    note: str = ""
    """The kind of change or command, in a few words."""
    guarded: str = ""
    """Why no pattern may allow it; empty if patterns apply."""
    call: str = ""
    """Id of the tool call."""
    looks: bool = False
    """Whether it is read-only: then it is allowed unless a rule asks or denies."""
    like: tuple[str, ...] = ()
    """Tools that would reveal the same: rules that ask about or deny those apply to this call too."""
    spelled: tuple[str, ...] = ()
    """Other names of the subject, such as a link's: rules that ask or deny match them too."""
    agent: str = ""
    """Name of the subagent that makes the call."""
    origin: str = ""
    """Where its target first appeared, if the user never wrote it: ``#45 read_file README.md``."""
    origin_key: int = 0
    """Log number of that text, if it is in this session."""
    traced: str = ""
    """What of the call appeared there: ``address and command``."""
    reaches: str = ""
    """With an origin: why it reaches out or cannot be undone."""


class Gate(Protocol):
    """Decides about everything a tool would change."""

    async def __call__(self, action: Action) -> str:
        """Wait for a decision.

        Returns:
            Why the action must not be done, for the model; empty if it may.
        """


LOOKS = "it is read-only, and no rule covers it"
READ_ONLY = "read-only mode: nothing is written, run or fetched"
PERHAPS = "which may apply: the full command is not known before it runs"
UNKNOWN = "read-only mode: no rule marks this tool as read-only"
PLANNING = "plan mode: nothing is written or run before the user accepts the plan"
EDITING = "edit mode: edits inside the workspace go ahead"


@frozen
class Verdict:
    """The decision on an action."""

    ruling: Ruling
    because: str
    """Why, for the user: the rule that decided and how it matches, or what applies without a rule."""
    rule: str = ""
    """The rule that decided, as written; empty if none did."""
    firm: bool = False
    """Whether only the user may allow it, because it may be what a rule denies."""
    guard: int = 0
    """Log number of the guard that decided; 0 if none did."""


class Judge(Gate, Protocol):
    """A gate that can also tell its ruling without asking anyone."""

    def judged(self, action: Action) -> Verdict:
        """The ruling of the rules on an action now. Safe to call from any thread."""


@frozen
class AgentGate:
    """A gate whose questions name the subagent that asks."""

    gate: Judge
    agent: str

    async def __call__(self, action: Action) -> str:
        note = f"{action.note}, by agent {self.agent}" if action.note else f"by agent {self.agent}"
        return await self.gate(replace(action, note=note, agent=self.agent))

    def judged(self, action: Action) -> Verdict:
        return self.gate.judged(action)


def judge(
    action: Action,
    rules: Iterable[ApprovalRule],
    *,
    read_only: bool = False,
    mode: Mode = "ask",
    folder: Folder = ANYWHERE,
) -> Verdict:
    """Apply the rules. Deny takes precedence over ask, and ask over allow.

    The mode decides if no rule does. In plan mode, no rule can allow anything to be written or run.

    Args:
        action: The call.
        rules: All rules, in any order.
        read_only: Whether only read-only calls are allowed.
        mode: The session's mode.
        folder: Where commands run.
    """
    known = tuple(rules)
    looks = action.looks or any(rule.ruling == "looks" and fits(rule, action) for rule in known)
    if read_only and not looks:
        return Verdict("deny", UNKNOWN if action.kind == "other" else READ_ONLY)
    if mode == "plan" and not looks and action.kind != "address":
        return Verdict("deny", PLANNING)
    lines = {rule.pattern: rule for rule in known if _is_about_lines(rule, action)}
    others = [rule for rule in known if not _is_about_lines(rule, action)]
    allowed = allowance(action.subject, tuple(lines), folder) if lines else NOTHING
    text = ", ".join(lines[pattern].text for pattern in allowed.patterns)
    verdicts = [Verdict("allow", text, text)] if text else []
    if (decided := _by_rules(action, others, verdicts)) is not None:
        return decided
    if action.looks:
        return Verdict("allow", LOOKS)
    shown = PurePosixPath(action.subject)
    is_inside = bool(shown.parts) and not shown.is_absolute() and ".." not in shown.parts
    if mode == "edit" and action.kind == "file" and not action.guarded and is_inside:
        return Verdict("allow", EDITING)
    return Verdict("ask", action.guarded or allowed.missing or "asks unless a rule allows it")


def _by_rules(action: Action, rules: Sequence[ApprovalRule], verdicts: list[Verdict]) -> Verdict | None:
    for rule in rules:
        if (how := _fit(rule, action)) == "surely":
            verdicts.append(Verdict(rule.ruling, rule.text, rule.text))
        elif how == "perhaps":
            # If it only may be what is denied, the user decides.
            denied = rule.ruling == "deny"
            ruling: Ruling = "ask" if denied else rule.ruling
            verdicts.append(Verdict(ruling, f"{rule.text}, {PERHAPS}", rule.text, firm=denied))
    for ruling in RULINGS:
        if ruling in ("allow", "looks") and action.guarded:
            break
        if fitting := [verdict for verdict in verdicts if verdict.ruling == ruling]:
            decided = max(fitting, key=lambda verdict: verdict.firm)
            if ruling == "ask" and action.guarded:
                return replace(decided, because=f"{action.guarded}; {decided.because}")
            return replace(decided, ruling="allow") if ruling == "looks" else decided
    return None


def _is_about_lines(rule: ApprovalRule, action: Action) -> bool:
    """Whether a rule may allow a command, alone or together with others."""
    is_allowing = rule.ruling == "allow" and action.kind == "command" and bool(rule.pattern)
    return is_allowing and _names(rule.tool, action.tool)


def _names(pattern: str, tool: str) -> bool:
    return pattern == tool or fnmatchcase(tool, pattern)


def fits(rule: ApprovalRule, action: Action, folder: Folder = ANYWHERE) -> bool:
    """Whether a rule alone applies to an action."""
    if _is_about_lines(rule, action):
        return bool(allowance(action.subject, (rule.pattern,), folder).patterns)
    return _fit(rule, action) != "no"


def _fit(rule: ApprovalRule, action: Action) -> Found:
    narrow = rule.ruling == "allow"
    # A file that one tool must not change, no other tool may change.
    changers = FILE_CHANGERS if rule.pattern and action.tool in FILE_CHANGERS else ()
    tools = (action.tool,) if narrow else (action.tool, *action.like, *changers)
    if not any(_names(rule.tool, tool) for tool in tools):
        return "no"
    if rule.ruling == "looks":
        # Our own tools are known: no rule can declare one that writes to be read-only.
        return _sure(action.kind == "other")
    if not rule.pattern:
        # All commands, whatever the shell syntax, are allowed by the tool's name alone.
        return "surely"
    match action.kind:
        case "file" if narrow:
            parts = PurePosixPath(action.subject).parts
            return _sure(any(each.matches(parts) for each in _compiled(rule.pattern)))
        case "file":
            names = (action.subject, *action.spelled)
            return _sure(any(path_concerns(rule.pattern, each) for each in names))
        case "command":
            return find_in(action.subject, without_more(rule.pattern))
        case "address":
            origin, of_hosts = origin_of(action.subject), parse_host_rule(rule.pattern)
            if origin is None or of_hosts is None:
                return "no"
            return _sure(of_hosts.allows(origin) if narrow else of_hosts.concerns(origin))
        case "other":
            like = fnmatchcase(action.subject.casefold(), rule.pattern.casefold())
            return _sure(like and not narrow)


def _sure(fitting: bool) -> Found:
    return "surely" if fitting else "no"


def path_concerns(pattern: str, path: str) -> bool:
    """Whether a path, or a folder above it, matches a pattern, interpreted broadly."""
    pattern, path = _plain(pattern), _plain(path)
    choices = _compiled(pattern if "/" in pattern else f"**/{pattern}")
    parts = PurePosixPath(path).parts
    ends = range(min(1, len(parts)), len(parts) + 1)
    return any(each.matches(parts[:end]) for each in choices for end in ends)


def proposed_pattern(action: Action, folder: Folder = ANYWHERE) -> str:
    """The narrowest rule for "always"; empty if no rule can allow the action."""
    if action.guarded:
        return ""
    match action.kind:
        case "file":
            literal = action.subject.isprintable() and not set("*?[]{}") & set(action.subject)
            return f"{action.tool} {action.subject}" if literal else ""
        case "command":
            pattern = exact_pattern(action.subject, folder)
            text = f"{action.tool} {pattern}"
            return text if pattern and len(text) <= LONGEST_RULE else ""
        case "address":
            origin = origin_of(action.subject)
            # A name with a pattern character in it would allow other hosts too.
            if origin is None or set("*?[") & set(origin.host) or parse_host_rule(origin.text) is None:
                return ""
            return f"{action.tool} {origin.text}"
        case "other":
            return action.tool


def proposed_prefix(action: Action, folder: Folder = ANYWHERE) -> str:
    """A rule for the first words of a command that also allows this one; empty if none makes sense."""
    commands = plain_commands(action.subject) if action.kind == "command" and not action.guarded else ()
    if len(commands) != 1 or not (least := command_prefix_length(commands[0].words)):
        return ""
    words = commands[0].words
    for count in range(least, len(words) + 1):
        rule = ApprovalRule("allow", action.tool, f"{' '.join(words[:count])}{MORE}", "session")
        if len(rule.text) <= LONGEST_RULE and fits(rule, action, folder):
            return rule.text
    return ""


def _plain(path: str) -> str:
    """A path for comparisons that ignore case and the encoding of accents."""
    return unicodedata.normalize("NFC", path).casefold()


@lru_cache(maxsize=256)  # a search asks about every file it finds
def _compiled(pattern: str) -> tuple[PathPattern, ...]:
    return tuple(compile_path(each) for each in expand_braces(pattern))
