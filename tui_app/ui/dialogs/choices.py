"""Choosing the policy, the reasoning effort and the mode; accepting a plan; setting a goal."""

from typing import TYPE_CHECKING

from tui_app.context.policy import Policy
from tui_app.conversation.requests.policies import choose_policy, policy_names
from tui_app.conversation.work import AcceptPlan, ChangeEffort, ChangePolicy, Pursue
from tui_app.modes import ABOUT, MODES, mode_named
from tui_app.refusals import Refusal
from tui_app.session.figures.costs import is_over
from tui_app.settings.rules import Refused
from tui_app.settings.spec import EFFORTS
from tui_app.ui.chat.session import ChatSession
from tui_app.ui.dialogs.list import ChoiceDialog
from tui_app.ui.words.text import one_line, tokens
from tui_app.usage import ContextUsage

if TYPE_CHECKING:
    from tui_app.ui.host import Host


async def _one_of(app: "Host", named: str, kind: str, dialog: ChoiceDialog) -> str:
    """Return the given or picked word, empty for none; raises ``Refusal`` for an unknown one."""
    chosen: str = named or await app.push_screen_wait(dialog) or ""
    if chosen and chosen not in dialog.rows:
        raise Refusal(f"No {kind} {one_line(named, 20)}. Choose one of {', '.join(dialog.rows)}.")
    return chosen


async def change_policy(app: "Host", session: ChatSession, name: str) -> None:
    """Switch to a policy by name, or to one that the user picks; an unknown name changes nothing."""
    settings, state = session.launch.settings, session.state
    names = policy_names(settings)
    about = {each: policy_outlook(choose_policy(settings, each), state.usage) for each in names}
    dialog = ChoiceDialog("Policy", names, state.policy, about)
    chosen = await _one_of(app, name, "policy", dialog)
    if chosen and (name or chosen != state.policy):
        session.submit(ChangePolicy(chosen))


def policy_outlook(policy: Policy, usage: ContextUsage | None) -> str:
    """Describe a policy, and when it would compact the current conversation."""
    if usage is None or not policy.automatic:
        return f"{policy.about}."
    if policy.pressure(usage) != "none":
        here = "compacts with the next request"
    elif policy.limit is not None:
        here = "compacts nothing yet"
    else:
        mark = policy.background_mark(usage.window)
        here = f"compacts from {tokens(mark)} tokens on, now {tokens(usage.total)}"
    return f"{policy.about}.\nHere: {here}."


_EFFORTS = {
    "default": "The model's default.",
    "off": "Not at all, or as little as the model can.",
    "minimal": "Barely.",
    "low": "Quick and cheap.",
    "medium": "Enough for most work.",
    "high": "For hard problems.",
    "xhigh": "Beyond high, where supported.",
    "max": "The maximum.",
}


async def change_effort(app: "Host", session: ChatSession, name: str) -> None:
    """Switch to a reasoning effort, or to one that the user picks; an unknown level changes nothing."""
    current = session.state.effort or session.launch.settings.thinking
    dialog = ChoiceDialog("Effort, from the next request on", EFFORTS, current, _EFFORTS)
    chosen = await _one_of(app, name.strip().lower(), "effort", dialog)
    if chosen and (name or chosen != current):
        session.submit(ChangeEffort(chosen))


async def change_mode(app: "Host", session: ChatSession, name: str) -> None:
    """Switch to a mode by name, or to one that the user picks."""
    about: dict[str, str] = {each: f"{what}." for each, what in ABOUT.items()}
    dialog = ChoiceDialog("Mode", MODES, session.state.mode, about)
    mode = mode_named(await _one_of(app, mode_named(name) or name, "mode", dialog))
    if mode == session.state.mode:
        session.reply(f"The mode is already {mode}.")
    elif mode is not None:
        session.change_mode(mode)


def accept_plan(session: ChatSession, argument: str) -> None:
    """Accept the plan, in the named mode or the one before plan mode."""
    state, mode = session.state, mode_named(argument) if argument else session.state.worked
    if mode is None or mode == "plan":
        raise Refusal("/accept takes ask or edit: the mode in which the plan is carried out.")
    if is_over(session.launch.settings.budget, session.state.costs.usd):
        raise Refusal("Budget spent. Leave plan mode with /mode, then send a prompt.")
    if state.mode != "plan":
        raise Refusal(f"No plan to accept: this is {state.mode} mode. /mode plan asks the model for one.")
    session.submit(AcceptPlan(mode))


async def set_goal(session: ChatSession, argument: str) -> None:
    """Set a goal for the model, end it, or show its progress."""
    from tui_app.conversation.turns.goals import USAGE, parse_goal, refusal

    if argument.strip() == "off":
        if not await session.ask(lambda opened: opened.goals.end("off")):
            session.reply("There is no goal.")
    elif argument.strip():
        try:
            session.submit(Pursue(parse_goal(argument)))
        except Refused as refused:
            raise Refusal(refusal(refused, "/goal")) from None
    elif (goal := await session.ask(lambda opened: opened.goals.active)) is not None:
        data = goal.data
        session.reply(f"{goal.progress}: {data.text} · reached {data.condition} · /goal off ends it")
    else:
        raise Refusal(f"There is no goal. /goal {USAGE}")
