"""The approvals screen: rules in force with their sources, guards, and decisions of this session."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import starmap
from types import MappingProxyType
from typing import TYPE_CHECKING

from tui_app.events import ApprovalDecided, GuardKind, GuardSet
from tui_app.records import frozen
from tui_app.refusals import Refusal
from tui_app.settings import SettingsError
from tui_app.settings.rules import Refused
from tui_app.settings.tables import (
    REPOSITORIES,
    RULINGS,
    UNLESS_YOURS,
    ApprovalRule,
    Ruling,
    misnamed,
    parse_rule,
    rules_of,
    tables_of,
)
from tui_app.system.project_files import repository_root
from tui_app.text import visible
from tui_app.tool_specs import EDIT_FILE, RUN_COMMAND, WEB_FETCH, WRITE_FILE
from tui_app.ui.chat.session import ChatSession
from tui_app.ui.dialogs.list import Asked, ChoiceDialog, ListSpec, OpenList
from tui_app.ui.dialogs.questions import typed
from tui_app.ui.dialogs.settings_desk import SettingsDesk, report_file_error
from tui_app.ui.widgets.tables import MUTED, Column
from tui_app.ui.words.text import clock, count, one_line, padded

if TYPE_CHECKING:
    from tui_app.conversation.assembly import OpenSession
    from tui_app.ui.host import Host


@frozen
class RuleRow:
    """A rule, a guard, the default, or a decision."""

    first: str
    """The ruling, or the time of the decision."""
    text: str
    note: str
    where: str = ""
    """Where a rule comes from, or that its tool does not exist."""
    quote: str = ""
    """Further text that the filter searches."""
    rule: ApprovalRule | None = None
    guard: int = 0
    """Log number of the guard, if it is one."""


def where_text(row: RuleRow) -> str:
    return padded(row.where, 14) if row.where else ""


class ApprovalsScreen(OpenList[RuleRow], place="approvals", style="approvals"):
    """Requests ``add``, or ``remove``, ``keep`` or ``widen`` with the row of a rule."""

    def __init__(self, rows: Sequence[RuleRow], *, read_only: bool = False) -> None:
        """List rules and decisions.

        Args:
            rows: From :func:`rule_rows`.
            read_only: Whether nothing is written, run or fetched, whatever the rules allow.
        """
        spec = ListSpec[RuleRow](
            name="approvals",
            search="filter rules and decisions",
            columns=(
                Column(lambda row: row.first, 7, lambda row: _TONES.get(row.first, MUTED)),
                Column(lambda row: row.text, tone=lambda row: "bold" if row.rule or row.guard else ""),
                Column(where_text, 16, lambda row: _TONES.get(row.where, MUTED), snug=True),
            ),
            title=lambda it: (
                f"Approvals · {count(sum(row.rule is not None for row in it.rows), 'rule')}"
                f"{' · read-only: nothing is written, run or fetched' * read_only}"
            ),
            words=lambda row: f"{row.first} {row.text} {row.where} {row.quote}",
            note=lambda row: row.note,
            empty="No matching rule or decision.",
            acts_without_row=("f7", "esc"),
        )
        super().__init__(rows, spec)

    def use(self, row: RuleRow) -> None:
        """Show the note again: a row has nothing else to open."""
        self.note(row.note)

    def answer(self, asked: Asked[RuleRow]) -> None:
        row = asked.row
        is_meant = row is not None and (row.rule is not None or (row.guard and asked.what == "remove"))
        if asked.what == "add" or is_meant:
            super().answer(asked)
        else:
            self.note("Mark a rule first.")


_NO_TOOL, _OTHER = "no such tool", "anything else that writes, runs or fetches"
_TONES: Mapping[str, str] = {
    "ask": "$text-accent", "deny": "$text-error", "guard": "$text-error", "allow": "$text-success",
    "looks": "$text-success", _NO_TOOL: "$text-warning",
}  # fmt: skip
_SOURCES = {"settings": "your file", "session": "this session", "repository": "this repo"}
_HOW_CHANGED = {
    "settings": "In your settings file, for all repositories. f8 removes it.",
    "repository": "In your settings file, for this repository. f8 removes it, f6 keeps it everywhere.",
    "session": "Ends with this session. f8 removes it, f9 keeps it here, f6 everywhere.",
}
_DECIDED_BY = {
    "person": "You decided.",
    "rule": "A rule decided.",
    "guard": "A guard stopped it.",
    "mode": "The mode decided.",
    "unattended": "No one was there to answer.",
}


def rule_rows(
    rules: Iterable[ApprovalRule],
    decisions: Iterable[tuple[float, ApprovalDecided]] = (),
    misnamed: Mapping[ApprovalRule, str] = MappingProxyType({}),
    guards: Mapping[int, GuardSet] = MappingProxyType({}),
) -> list[RuleRow]:
    """Return rows for the guards, the rules, the default and the decisions.

    Args:
        rules: In order of precedence.
        decisions: Newest first, with their times in seconds since the epoch.
        misnamed: Problems of rules whose tool cannot exist.
        guards: By their log numbers.
    """
    default = RuleRow("ask", _OTHER, "Deny wins over ask, and ask over allow.", "built in")
    shown = (rule_row(rule, misnamed.get(rule, "")) for rule in rules)
    return [*starmap(guard_row, guards.items()), *shown, default, *starmap(decision_row, decisions)]


def guard_row(seq: int, guard: GuardSet) -> RuleRow:
    """Return the row of a guard, with the user's words that it comes from."""
    note = f"Your words, {one_line(visible(guard.words), 200)}. What breaks it is stopped. f8 lifts it."
    return RuleRow("guard", visible(guard.text), note, _SOURCES["session"], guard.quote, guard=seq)


def rule_row(rule: ApprovalRule, wrong: str) -> RuleRow:
    """Return the row of a rule: its ruling, pattern and source, or what is wrong with its tool name."""
    where = _SOURCES.get(rule.source, rule.source)
    note = _HOW_CHANGED.get(rule.source, f"From the {rule.source}; it cannot be changed here.")
    if wrong:
        where, note = _NO_TOOL, f"{one_line(visible(wrong), 200)} {UNLESS_YOURS} {note}"
    return RuleRow(rule.ruling, visible(rule.text), note, where, rule=rule)


def decision_row(time: float, decided: ApprovalDecided) -> RuleRow:
    """Return the row of a decision."""
    reason = f" Reason: {one_line(decided.reason, 300)}" if decided.reason else ""
    note = f"{_DECIDED_BY[decided.by]}{reason}"
    return RuleRow(clock(time), visible(decided.headline()), note)


_HOW = (
    "allow, ask or deny, then a tool, then a pattern:\n"
    f"allow {RUN_COMMAND.name} git log …   (commands that begin so)   allow {RUN_COMMAND.name} = make docs\n"
    f"allow {WRITE_FILE.name} docs/**   deny {EDIT_FILE.name} *.lock   ask {WEB_FETCH.name} *.example.org\n"
    "looks my_tool   (it changes nothing: in read-only mode too)\n"
    "It applies in this repository; f6 in the list keeps it everywhere."
)


async def show_approvals(app: "Host", session: ChatSession) -> None:
    """List rules and decisions, and apply the requested changes."""
    desk = SettingsDesk(app)
    rows, read_only = await _rows(session)
    screen = ApprovalsScreen(rows, read_only=read_only)
    app.push_screen(screen)
    while wish := await screen.next_request():
        try:
            reply = await _grant(session, desk, wish)
        except SettingsError as error:
            reply = ""
            await report_file_error(app, error)
        screen.show((await _rows(session))[0], one_line(visible(reply), 300))
        if not screen.is_current:  # closed meanwhile
            session.reply(reply)


async def _rows(session: ChatSession) -> tuple[list[RuleRow], bool]:
    if session.conversation is None:
        settings = session.launch.settings
        known = rules_of(settings.approvals, repository_root(session.launch.cwd))
        return rule_rows(known, misnamed=_misnamed(session, known)), settings.read_only

    def read(opened: "OpenSession") -> tuple[list[RuleRow], bool]:
        tooling = opened.conversation.tooling
        gate = tooling.approvals
        rules = sorted((*gate.rules, *gate.session_rules), key=lambda rule: RULINGS.index(rule.ruling))
        records = tooling.decisions()
        decided = [(each.time, each.data) for each in records if isinstance(each.data, ApprovalDecided)]
        guards = opened.guards.active
        return rule_rows(rules, decided, _misnamed(session, rules), guards), gate.read_only

    return await session.ask(read)


def _misnamed(session: ChatSession, rules: Iterable[ApprovalRule]) -> dict[ApprovalRule, str]:
    """Return the rules for tools that cannot exist.

    A custom agent has its own tools, so nothing is checked for it.
    """
    if session.launch.agent:
        return {}
    found = ((rule, misnamed(rule, session.launch.settings.mcp)) for rule in rules)
    return {rule: wrong for rule, wrong in found if wrong}


async def _grant(session: ChatSession, desk: SettingsDesk, wish: Asked[RuleRow]) -> str:
    if wish.row is not None and (seq := wish.row.guard):
        await session.ask(lambda opened: opened.guards.lift(seq))
        return "The guard is lifted."
    match wish.what, wish.row.rule if wish.row is not None else None:
        case "add", _:
            return await _add(session, desk)
        case "remove", ApprovalRule(source="session") as rule:
            await _forget(session, rule)
            return f"{rule.text} will ask again."
        case "remove", ApprovalRule(source="settings" | "repository") as rule:
            return _take_out(session, desk, rule) or f"{rule.text}: removed from {desk.place}"
        case ("keep", ApprovalRule(source="session") as rule) | (
            "widen",
            ApprovalRule(source="session" | "repository") as rule,
        ):
            everywhere = wish.what == "widen"
            if refused := _put_in(session, desk, rule, everywhere=everywhere):
                return refused
            if rule.source == "repository":
                refused = _take_out(session, desk, rule)
            elif everywhere or desk.app.launch.trusted:
                await _forget(session, rule)
            whose = "all repositories" if everywhere else "this repository"
            return refused or f"{rule.text}: written to {desk.place}, for {whose}"
        case _:
            return "This rule cannot be changed here."


async def _add(session: ChatSession, desk: SettingsDesk) -> str:
    """Ask for a rule until it is valid or the user cancels."""
    rule: ApprovalRule | None = None

    async def take(text: str) -> str:
        nonlocal rule
        word, _, rest = text.partition(" ")
        ruling = next((each for each in RULINGS if each == word), None)
        if ruling is None:
            return "It begins with allow, ask, deny or looks." if text else ""
        try:
            rule = parse_rule(ruling, rest.strip())
        except Refused as wrong:
            return f"{wrong.shown}; allowed: {wrong.allowed}"
        return _put_in(session, desk, rule, everywhere=False)

    if not await typed(desk.app, "A new rule", _HOW, "allow ", take) or rule is None:
        return "Nothing was changed."
    doubt = _misnamed(session, (rule,)).get(rule, "")
    return f"{rule.ruling} {rule.text}: written to {desk.place}. {doubt}".removesuffix(". ")


def _put_in(session: ChatSession, desk: SettingsDesk, rule: ApprovalRule, *, everywhere: bool) -> str:
    """Add a rule to the settings, for this repository or all; returns an error, empty if it succeeded."""
    root = repository_root(session.launch.cwd)
    table = "" if everywhere else next(iter(tables_of(desk.app.launch.settings.approvals, root)), str(root))
    return _change(session, desk, rule.ruling, table, add=rule.text)


def _take_out(session: ChatSession, desk: SettingsDesk, rule: ApprovalRule) -> str:
    root = repository_root(session.launch.cwd)
    tables = ("",) if rule.source == "settings" else tables_of(desk.app.launch.settings.approvals, root)
    failed = (_change(session, desk, rule.ruling, table, drop=rule.text) for table in tables)
    return next(filter(None, failed), "")


def _change(
    session: ChatSession, desk: SettingsDesk, ruling: Ruling, table: str, *, add: str = "", drop: str = ""
) -> str:
    """Change a list in the file and apply it; returns an error, empty if it succeeded."""
    rules = desk.app.launch.settings.approvals
    texts = list((rules.get(REPOSITORIES, {}).get(table, {}) if table else rules).get(ruling, ()))
    updated = [each for each in (*texts, add) if each and each.split() != drop.split()]
    if updated == texts:
        return ""
    key = f"approvals.{REPOSITORIES}.{table}.{ruling}" if table else f"approvals.{ruling}"
    unique = list(dict.fromkeys(updated))
    failed = desk.change(key, json.dumps(unique, ensure_ascii=False) if unique else None)
    if not failed:
        session.instruct(lambda now: now.tooling.approvals.replace_rules(desk.app.launch.rules))
    return failed


async def _forget(session: ChatSession, rule: ApprovalRule) -> None:
    await session.ask(lambda opened: opened.conversation.tooling.approvals.forget(rule))


async def set_guard(app: "Host", session: ChatSession, argument: str) -> None:
    """Set a guard from the argument, or from the user's own words that code can check."""
    from tui_app.conversation.consent.guards import USAGE, parse_guard

    if argument:
        try:
            guard = parse_guard(argument)
        except Refused as wrong:
            raise Refusal(f"{wrong.shown} is not a complete guard. Use /guard {wrong.allowed}.") from None
    else:
        offers = await session.ask(lambda opened: opened.guards.offers())
        if not offers:
            raise Refusal(f"None of your words names a path or command. Type one: /guard {USAGE}.")
        whole: tuple[GuardKind, ...] = ("writes", "tests")
        sets = [*offers, *(replace(offers[0], forbids=each, what="") for each in whole)]
        known = {each.text: each for each in reversed(sets)}
        about = {text: f"Your words, {each.words}" for text, each in known.items()}
        texts = list(dict.fromkeys(each.text for each in sets))
        chosen = await app.push_screen_wait(ChoiceDialog("What may no call do?", texts, "", about))
        if not chosen:
            return
        guard = known[chosen]
    await session.ask(lambda opened: opened.guards.set(guard))
