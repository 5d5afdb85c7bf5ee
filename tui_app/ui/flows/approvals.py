"""Showing and changing the rules about tools, one after the other, until the person closes the list."""

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING

from tui_app.events import ApprovalDecided
from tui_app.settings import SettingsError
from tui_app.settings.approvals import RULINGS, ApprovalRule, Ruling, parse_rule, rules_of
from tui_app.settings.rules import Refused
from tui_app.settings.spec import misnamed
from tui_app.ui.chat_session import ChatSession
from tui_app.ui.screens.approvals import ApprovalsScreen, ApprovalsView, Decided, RuleWish
from tui_app.ui.screens.details import DetailsScreen
from tui_app.ui.screens.edit import EditDialog
from tui_app.ui.settings_desk import SettingsDesk

if TYPE_CHECKING:
    from tui_app.conversation.assembly import OpenSession
    from tui_app.ui.app import PlimsollApp

_HOW = (
    "allow, ask or deny, then a tool, then what of it:\n"
    "allow run_command pytest -q   (all commands that begin so)\n"
    "allow write_file docs/**   deny edit_file *.lock   ask web_fetch *.example.org\n"
    "looks my_tool   (it changes nothing: in read-only mode too)"
)


async def show_approvals(app: "PlimsollApp", session: ChatSession) -> None:
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
    if not session.link.ready:
        settings = session.launch.settings
        known = rules_of(settings.approvals)
        return ApprovalsView(known, read_only=settings.read_only, misnamed=_misnamed(session, known))

    async def read(opened: "OpenSession") -> ApprovalsView:
        tooling = opened.conversation.tooling
        gate = tooling.approvals
        rules = sorted((*gate.rules, *gate.session_rules), key=lambda rule: RULINGS.index(rule.ruling))
        records = tooling.decisions()
        decided = [
            Decided(each.time, each.data) for each in records if isinstance(each.data, ApprovalDecided)
        ]
        return ApprovalsView(tuple(rules), tuple(decided), gate.read_only, _misnamed(session, rules))

    return await session.link.ask(read)


def _misnamed(session: ChatSession, rules: Iterable[ApprovalRule]) -> dict[ApprovalRule, str]:
    """Rules about tools that there cannot be; the names of an own agent's tools are its own affair."""
    if session.launch.agent:
        return {}
    found = ((rule, misnamed(rule, session.launch.settings.mcp)) for rule in rules)
    return {rule: wrong for rule, wrong in found if wrong}


async def _grant(app: "PlimsollApp", session: ChatSession, desk: SettingsDesk, wish: RuleWish) -> str:
    """Do what is wanted; what to say about it."""
    match wish:
        case RuleWish("add"):
            return await _add(app, session, desk)
        case RuleWish("remove", ApprovalRule(source="session") as rule):
            await _forget(session, rule)
            return f"{rule.text} is asked about again."
        case RuleWish("remove", ApprovalRule(source="settings") as rule):
            left = [each for each in _texts(app, rule.ruling) if each.split() != rule.text.split()]
            return _write(app, session, desk, rule.ruling, left) or f"{rule.text}: taken out of {desk.place}"
        case RuleWish("keep", ApprovalRule(source="session") as rule):
            said = _write(app, session, desk, rule.ruling, [*_texts(app, rule.ruling), rule.text])
            if not said:
                await _forget(session, rule)
            return said or f"{rule.text}: written to {desk.place}"
        case _:
            return "This rule cannot be changed here."


async def _add(app: "PlimsollApp", session: ChatSession, desk: SettingsDesk) -> str:
    """Ask for a rule until it is one, or the person gives up."""
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
        refused = _write(app, session, desk, ruling, [*_texts(app, ruling), rule.text])
        if not refused:
            doubt = _misnamed(session, (rule,)).get(rule, "")
            return f"{ruling} {rule.text}: written to {desk.place}. {doubt}".removesuffix(". ")


def _texts(app: "PlimsollApp", ruling: Ruling) -> list[str]:
    return list(app.launch.settings.approvals.get(ruling, ()))


def _write(
    app: "PlimsollApp", session: ChatSession, desk: SettingsDesk, ruling: Ruling, texts: list[str]
) -> str:
    """Change one list in the file and put it into force; why not, empty when it is done."""
    unique = list(dict.fromkeys(texts))
    value = json.dumps(unique, ensure_ascii=False) if unique else None
    if failed := desk.change(f"approvals.{ruling}", value):
        return failed
    session.link.use_rules(rules_of(app.launch.settings.approvals))
    return ""


async def _forget(session: ChatSession, rule: ApprovalRule) -> None:
    async def forget(opened: "OpenSession") -> None:
        opened.conversation.tooling.approvals.forget(rule)

    await session.link.ask(forget)
