"""What tools may do: the rules in force, where each comes from, and what was decided in this session."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from typing import TYPE_CHECKING, ClassVar, Literal

from textual.content import Content
from textual.types import CSSPathType
from textual.widgets import Input

from tui_app.events import ApprovalDecided, GuardSet
from tui_app.files import repository_root
from tui_app.records import frozen
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
from tui_app.text import visible
from tui_app.tool_specs import EDIT_FILE, RUN_COMMAND, WEB_FETCH, WRITE_FILE
from tui_app.ui.chat.session import ChatSession
from tui_app.ui.dialogs.base import DetailsScreen, EditDialog, Wishes
from tui_app.ui.dialogs.filter import ChoiceDialog, FilterDialog
from tui_app.ui.dialogs.settings import SettingsDesk
from tui_app.ui.keys import place_bindings, place_hints
from tui_app.ui.text import clock, count, one_line

if TYPE_CHECKING:
    from tui_app.conversation.assembly import OpenSession
    from tui_app.ui.host import Host

_RULING_CELLS, _SOURCE_CELLS = 7, 14


@frozen
class Decided:
    """One decision with its time, in seconds since the epoch."""

    time: float
    event: ApprovalDecided


@frozen
class ApprovalsView:
    """All that is shown."""

    rules: tuple[ApprovalRule, ...] = ()
    """Those that win first."""
    decisions: tuple[Decided, ...] = ()
    """The newest first."""
    read_only: bool = False
    misnamed: Mapping[ApprovalRule, str] = field(default_factory=dict)
    """What is wrong with rules that name no tool there can be."""
    guards: Mapping[int, GuardSet] = field(default_factory=dict)
    """By their log numbers."""


@frozen
class RuleWish:
    """What a user wants of the rules."""

    what: Literal["add", "remove", "keep", "widen"]
    rule: ApprovalRule | None = None
    guard: int = 0
    """Log number of a guard that is meant instead."""


@frozen
class _Row:
    line: Content
    words: str
    note: str
    rule: ApprovalRule | None = field(default=None)
    guard: int = 0


class ApprovalsScreen(FilterDialog[_Row, None]):
    """Tells what is wanted through ``wanted``; what is shown is given to it."""

    CSS_PATH: ClassVar[CSSPathType | None] = ["../styles/dialog.tcss", "../styles/approvals.tcss"]
    BINDINGS = place_bindings("approvals")
    HINTS = place_hints("approvals")
    WITHOUT_ROW = frozenset({"f7", "esc"})
    NAME = "approvals"
    EMPTY = "No matching rule or decision."
    PLACEHOLDER = "filter rules and decisions"

    def __init__(self, view: ApprovalsView) -> None:
        """List rules and decisions.

        Args:
            view: What there is.
        """
        super().__init__()
        self._view = view
        self._at = 0
        """The place that was marked last."""
        self._said = ""
        self._wishes = Wishes[RuleWish]()

    async def wanted(self) -> RuleWish | None:
        """Wait for what the user wants next; None when the screen was closed."""
        return await self._wishes.next()

    def show(self, view: ApprovalsView, said: str) -> None:
        self._view, self._said = view, one_line(visible(said), 300)
        if self.is_open:
            self.narrow(self.query_one(Input).value)

    @property
    def title_text(self) -> str:
        mode = " · read-only: nothing is written, run or fetched" if self._view.read_only else ""
        return f"Approvals · {count(len(self._view.rules), 'rule')}{self.narrowed}{mode}"

    def fill(self, wanted: str) -> None:
        width, wrong = self.row_width, self._view.misnamed
        self._at = self.options.highlighted or 0
        self.offer(
            [
                *(guard_row(seq, each, width) for seq, each in self._view.guards.items()),
                *(rule_row(each, width, wrong.get(each, "")) for each in self._view.rules),
                default_row(width),
                *(decision_row(each, width) for each in self._view.decisions),
            ]
        )
        super().fill(wanted)

    def text_of(self, row: _Row) -> str:
        return row.words

    def line(self, row: _Row, width: int) -> Content:
        return row.line

    def first(self) -> int:
        return min(self._at, len(self.shown) - 1)

    def explain(self, row: _Row) -> None:
        self.note(self._said or row.note)
        self._said = ""

    def use(self, row: _Row) -> None:
        """Do nothing: a row has nothing behind it but its note."""
        self.note(row.note)

    def action_add(self) -> None:
        self._wishes.ask(RuleWish("add"))

    def action_remove(self) -> None:
        self._wish("remove")

    def action_keep(self) -> None:
        self._wish("keep")

    def action_widen(self) -> None:
        self._wish("widen")

    def _wish(self, what: Literal["remove", "keep", "widen"]) -> None:
        row = self.marked
        if row is None or (row.rule is None and not (row.guard and what == "remove")):
            self.note("Mark a rule first.")
        else:
            self._wishes.ask(RuleWish(what, row.rule, row.guard))

    def action_close(self) -> None:
        self._wishes.close()
        super().action_close()


def rule_row(rule: ApprovalRule, width: int, wrong: str = "") -> _Row:
    """One rule: what it says, about what, and where it comes from, or else what is wrong with its name."""
    room = max(8, width - _RULING_CELLS - _SOURCE_CELLS)
    text = one_line(visible(rule.text), room - 1)
    colour = {"ask": "$text-accent", "deny": "$text-error"}.get(rule.ruling, "$text-success")
    where = {"settings": "your file", "session": "this session", "repository": "this repo"}.get(
        rule.source, rule.source
    )
    line = Content.assemble(
        (f"{rule.ruling:<{_RULING_CELLS}}", colour),
        (text, "bold"),
        " " * max(0, room - Content(text).cell_length),
        ("no such tool", "$text-warning") if wrong else (where, "$text-muted"),
    )
    note = {
        "settings": "In your settings file, for all repositories. f8 removes it.",
        "repository": "In your settings file, for this repository. f8 removes it, f6 keeps it everywhere.",
        "session": "Ends with this session. f8 removes it, f9 keeps it here, f6 everywhere.",
    }.get(rule.source, f"From the {rule.source}; it cannot be changed here.")
    if wrong:
        note = f"{one_line(visible(wrong), 200)} {UNLESS_YOURS} {note}"
    return _Row(line, f"{rule.ruling} {rule.text} {where}".lower(), note, rule)


def guard_row(seq: int, guard: GuardSet, width: int) -> _Row:
    """One guard: what it stops, and the words that it comes from."""
    room = max(8, width - _RULING_CELLS - _SOURCE_CELLS)
    text = one_line(visible(guard.text), room - 1)
    line = Content.assemble(
        (f"{'guard':<{_RULING_CELLS}}", "$text-error"),
        (text, "bold"),
        " " * max(0, room - Content(text).cell_length),
        ("this session", "$text-muted"),
    )
    note = f"Your words, {one_line(visible(guard.words), 200)}. Whatever breaks it is stopped. f8 lifts it."
    return _Row(line, f"guard {guard.text} {guard.quote}".lower(), note, guard=seq)


def default_row(width: int) -> _Row:
    """Say what holds where no rule fits."""
    text = one_line("anything else that writes, runs or fetches", width - _RULING_CELLS - _SOURCE_CELLS)
    room = max(8, width - _RULING_CELLS - _SOURCE_CELLS)
    line = Content.assemble(
        (f"{'ask':<{_RULING_CELLS}}", "$text-accent"), f"{text:<{room}}", ("built in", "$text-muted")
    )
    note = "Deny wins over ask, and ask over allow."
    return _Row(line, f"ask {text} built in", note)


def decision_row(decided: Decided, width: int) -> _Row:
    """One decision of this session."""
    title = visible(decided.event.headline())
    line = Content.assemble(
        (f"{clock(decided.time):<{_RULING_CELLS}}", "$text-muted"), one_line(title, width - 8)
    )
    by = {
        "person": "You decided.",
        "rule": "A rule decided.",
        "guard": "A guard stopped it.",
        "mode": "The mode decided.",
        "unattended": "No one was there to answer.",
    }[decided.event.by]
    reason = f" Reason: {one_line(decided.event.reason, 300)}" if decided.event.reason else ""
    return _Row(line, title.lower(), f"{by}{reason}")


# Showing and changing the rules about tools, one after the other, until the user closes the list.

_HOW = (
    "allow, ask or deny, then a tool, then a pattern:\n"
    f"allow {RUN_COMMAND.name} git log …   (commands that begin so)   allow {RUN_COMMAND.name} = make docs\n"
    f"allow {WRITE_FILE.name} docs/**   deny {EDIT_FILE.name} *.lock   ask {WEB_FETCH.name} *.example.org\n"
    "looks my_tool   (it changes nothing: in read-only mode too)\n"
    "It applies in this repository; f6 in the list keeps it everywhere."
)


async def show_approvals(app: "Host", session: ChatSession) -> None:
    """List rules and decisions, and change what is asked for."""
    desk = SettingsDesk(app)
    screen = ApprovalsScreen(await _view(session))
    app.push_screen(screen)
    while wish := await screen.wanted():
        try:
            said = await _grant(app, session, desk, wish)
        except SettingsError as error:
            said = ""
            await app.push_screen_wait(DetailsScreen("The settings file is wrong", str(error)))
        screen.show(await _view(session), said)
        if not screen.is_current:  # closed meanwhile
            session.say(said)


async def _view(session: ChatSession) -> ApprovalsView:
    if session.conversation is None:
        settings = session.launch.settings
        known = rules_of(settings.approvals, repository_root(session.launch.cwd))
        return ApprovalsView(known, read_only=settings.read_only, misnamed=_misnamed(session, known))

    def read(opened: "OpenSession") -> ApprovalsView:
        tooling = opened.conversation.tooling
        gate = tooling.approvals
        rules = sorted((*gate.rules, *gate.session_rules), key=lambda rule: RULINGS.index(rule.ruling))
        records = tooling.decisions()
        decided = [
            Decided(each.time, each.data) for each in records if isinstance(each.data, ApprovalDecided)
        ]
        wrong, guards = _misnamed(session, rules), opened.guards.standing
        return ApprovalsView(tuple(rules), tuple(decided), gate.read_only, wrong, guards)

    return await session.ask(read)


def _misnamed(session: ChatSession, rules: Iterable[ApprovalRule]) -> dict[ApprovalRule, str]:
    """Rules about tools that there cannot be; the names of an own agent's tools are its own affair."""
    if session.launch.agent:
        return {}
    found = ((rule, misnamed(rule, session.launch.settings.mcp)) for rule in rules)
    return {rule: wrong for rule, wrong in found if wrong}


async def _grant(app: "Host", session: ChatSession, desk: SettingsDesk, wish: RuleWish) -> str:
    """Change a rule as the user wants, and return what to say about it."""
    match wish:
        case RuleWish("add"):
            return await _add(app, session, desk)
        case RuleWish("remove", guard=seq) if seq:
            await session.ask(lambda opened: opened.guards.lift(seq))
            return "The guard is lifted."
        case RuleWish("remove", ApprovalRule(source="session") as rule):
            await _forget(session, rule)
            return f"{rule.text} will ask again."
        case RuleWish("remove", ApprovalRule(source="settings" | "repository") as rule):
            return _take_out(app, session, desk, rule) or f"{rule.text}: removed from {desk.place}"
        case RuleWish("keep", ApprovalRule(source="session") as rule):
            said = _put_in(app, session, desk, rule, everywhere=False)
            if not said and app.launch.trusted:
                await _forget(session, rule)
            return said or f"{rule.text}: written to {desk.place}, for this repository"
        case RuleWish("widen", ApprovalRule(source="session" | "repository") as rule):
            said = _put_in(app, session, desk, rule, everywhere=True)
            if not said and rule.source == "session":
                await _forget(session, rule)
            elif not said:
                said = _take_out(app, session, desk, rule)
            return said or f"{rule.text}: written to {desk.place}, for all repositories"
        case _:
            return "This rule cannot be changed here."


async def _add(app: "Host", session: ChatSession, desk: SettingsDesk) -> str:
    """Ask for a rule until it is one, or the user gives up."""
    text, refused = "allow ", ""
    while True:
        typed = await app.push_screen_wait(EditDialog("A new rule", _HOW, text, refused))
        if not typed:
            return "Nothing was changed."
        text = typed
        word, _, rest = typed.partition(" ")
        ruling = next((each for each in RULINGS if each == word), None)
        if ruling is None:
            refused = "It begins with allow, ask, deny or looks."
            continue
        try:
            rule = parse_rule(ruling, rest.strip())
        except Refused as wrong:
            refused = f"{wrong.shown}; allowed: {wrong.allowed}"
            continue
        refused = _put_in(app, session, desk, rule, everywhere=False)
        if not refused:
            doubt = _misnamed(session, (rule,)).get(rule, "")
            return f"{ruling} {rule.text}: written to {desk.place}. {doubt}".removesuffix(". ")


def _put_in(
    app: "Host", session: ChatSession, desk: SettingsDesk, rule: ApprovalRule, *, everywhere: bool
) -> str:
    """Add a rule to the settings, of this repository or of all; why not, empty when it is done."""
    root = repository_root(session.launch.cwd)
    table = "" if everywhere else next(iter(tables_of(app.launch.settings.approvals, root)), str(root))
    return _write(app, session, desk, rule.ruling, table, [*_texts(app, rule.ruling, table), rule.text])


def _take_out(app: "Host", session: ChatSession, desk: SettingsDesk, rule: ApprovalRule) -> str:
    root = repository_root(session.launch.cwd)
    tables = ("",) if rule.source == "settings" else tables_of(app.launch.settings.approvals, root)
    for table in tables:
        texts = _texts(app, rule.ruling, table)
        left = [each for each in texts if each.split() != rule.text.split()]
        if left != texts and (failed := _write(app, session, desk, rule.ruling, table, left)):
            return failed
    return ""


def _texts(app: "Host", ruling: Ruling, table: str) -> list[str]:
    rules = app.launch.settings.approvals
    return list((rules.get(REPOSITORIES, {}).get(table, {}) if table else rules).get(ruling, ()))


def _write(
    app: "Host", session: ChatSession, desk: SettingsDesk, ruling: Ruling, table: str, texts: list[str]
) -> str:
    """Change one list in the file and put it into force; why not, empty when it is done."""
    unique = list(dict.fromkeys(texts))
    value = json.dumps(unique, ensure_ascii=False) if unique else None
    if failed := desk.change(
        f"approvals.{REPOSITORIES}.{table}.{ruling}" if table else f"approvals.{ruling}", value
    ):
        return failed
    if (conversation := session.conversation) is not None:
        approvals = conversation.tooling.approvals
        rules = app.launch.rules
        session.engine.call(approvals.replace_rules, rules)
    return ""


async def _forget(session: ChatSession, rule: ApprovalRule) -> None:
    await session.ask(lambda opened: opened.conversation.tooling.approvals.forget(rule))


_GUARD = "What may no call do?"


async def set_guard(app: "Host", session: ChatSession, argument: str) -> None:
    """Make a guard of what is typed, or of a sentence of the user that names something code can check."""
    from tui_app.conversation.guards import USAGE, parse_guard

    if argument:
        try:
            guard = parse_guard(argument)
        except Refused as wrong:
            session.say(f"{wrong.shown} is no guard. Allowed: /guard {wrong.allowed}.")
            return
    else:
        offers = await session.ask(lambda opened: opened.guards.offers())
        if not offers:
            session.say(f"None of your words names a path or command. Type one: /guard {USAGE}.")
            return
        sets = [*offers, replace(offers[0], forbids="writes", what="")]
        known = {each.text: each for each in reversed(sets)}
        about = {text: f"Your words, {each.words}" for text, each in known.items()}
        texts = list(dict.fromkeys(each.text for each in sets))
        chosen = await app.push_screen_wait(ChoiceDialog(_GUARD, texts, "", about))
        if not chosen:
            return
        guard = known[chosen]
    await session.ask(lambda opened: opened.guards.set(guard))
