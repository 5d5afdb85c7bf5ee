"""``plimsoll handoff``: a new session with a brief of an earlier one, which does not change."""

import argparse
import asyncio
from typing import TYPE_CHECKING

from tui_app.cli.core.command import OK, Program, WrongUsage
from tui_app.cli.core.output import print_json, say, tell
from tui_app.cli.core.progress_line import ProgressLine
from tui_app.cli.core.signals import run_until_signal
from tui_app.cli.core.stdin import read_text_argument
from tui_app.conversation.requests.open_request import Opening
from tui_app.events import CompactionProgress
from tui_app.ui.words import text as numbers

if TYPE_CHECKING:
    from tui_app.conversation.handoff import Draft

_NO_GOAL = "What is the new session for? plimsoll handoff {} GOAL"


def execute(program: Program, args: argparse.Namespace) -> int:
    goal = " ".join(args.goal).strip()
    if not goal:
        raise WrongUsage(_NO_GOAL.format(args.id))
    if args.brief == "":
        raise WrongUsage("--brief needs the name of a file, or - for stdin.")
    if args.brief and args.dry_run:
        raise WrongUsage("--brief starts a session with your text; it cannot be combined with --dry-run.")
    settings = program.settings(window=args.window)
    opening = program.opening(settings, args, program.session(args.id).id)
    words = read_text_argument(program, args.brief) if args.brief else None
    return run_until_signal(_hand_over(opening, args, goal, words))


async def _hand_over(opening: Opening, args: argparse.Namespace, goal: str, words: str | None) -> int:
    """Write the brief of a session, and start a new one with it.

    Args:
        opening: The session, model and window.
        args: Whether to use no model, and whether to show only the brief.
        goal: The goal of the new session.
        words: The brief in the user's words; None to use the generated one.

    Raises:
        Refusal: if nothing can be handed over, or the model is unknown.
    """
    from tui_app.conversation.handoff import begin_session, write_brief

    with ProgressLine("Writing the brief") as line:

        def follow(progress: CompactionProgress) -> None:
            written = f"{numbers.tokens(progress.tokens_written)} written"
            model = f" · {progress.model}" if progress.model else ""
            line.update(f"Writing the brief · {written}{model}")

        draft = await write_brief(opening, goal, follow, extract=args.extract or words is not None)
    text = draft.brief.text if words is None else words
    begun = "" if args.dry_run else await asyncio.to_thread(begin_session, opening, draft, text)
    if args.json:
        print_json(brief_json(draft, text, begun))
        return OK
    say(text)
    if draft.brief.left_out and words is None:
        left = numbers.count(draft.brief.left_out, "binding item")
        tell(f"No room was left for {left}: shorten the goal, or set a larger --window.")
    if draft.brief.reason:
        tell(f"By extraction, because no model wrote notes: {draft.brief.reason}.")
    if begun:
        say(f"\nNew session {begun}. Continue there: plimsoll --resume {begun}")
    else:
        tell("No session was started.")
    return OK


def brief_json(draft: "Draft", text: str, session: str) -> dict[str, object]:
    """Return a brief with the JSON names that scripts rely on; without a session, that is null."""
    from tui_app.system.secrets import mask_secrets

    brief, edited = draft.brief, text.strip() != draft.brief.text.strip()
    return {
        "session": session or None,
        "from": draft.source.id,
        "goal": brief.goal,
        "title": draft.title,
        "brief": mask_secrets(text),
        "tokens": draft.tokens_of(text) if edited else brief.tokens,
        "left_out": 0 if edited else brief.left_out,
        "performed_by": brief.performed_by,
        "model": brief.model,
        "claims_marked": brief.marked,
        "reason": brief.reason,
        "cost_usd": brief.cost_usd,
    }
