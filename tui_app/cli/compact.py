"""``plimsoll compact``: compact a session, see what it would do, or take it back; ``plimsoll handoff``.

The work is that of the screen's compactor, with the trigger ``headless``.
"""

import argparse
import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from typing import TYPE_CHECKING

from tui_app.cli.command import (
    FAILED,
    OK,
    Command,
    CommandFailed,
    Program,
    WrongUsage,
    add_json,
    add_model,
    add_policy,
    add_session,
    add_window,
    run_until_signal,
    words_of_file,
)
from tui_app.cli.failures import for_shell
from tui_app.cli.output import ProgressLine, print_json, say, tell
from tui_app.conversation.open_request import Opening
from tui_app.conversation.policies import policy_of
from tui_app.conversation.work import EditSummary, Restate, VerifySummary
from tui_app.events import (
    CompactionComplete,
    CompactionEdited,
    CompactionProgress,
    Error,
    HookRan,
    Notice,
    Record,
    answers_told,
    fact_counts,
    lines_told,
)
from tui_app.next_steps import shell_words
from tui_app.references import WHOLE, Span, log_number
from tui_app.text import plain_text
from tui_app.ui import text as numbers

if TYPE_CHECKING:
    from tui_app.context.compaction.plan import Plan
    from tui_app.conversation.assembly import OpenSession
    from tui_app.conversation.handoff import Draft


def configure(parser: argparse.ArgumentParser) -> None:
    add_session(parser)
    parser.add_argument("--focus", metavar="T", default="", help="what matters most in the summary")
    parser.add_argument("--extract", action="store_true", help="write the summary without a model")
    parser.add_argument(
        "--try", dest="trial", action="store_true", help="also ask the model that will read it"
    )
    ends = (
        ("--from", "first", "compact only from this message on; #N as in exports"),
        ("--up-to", "last", "compact only up to this message; #N as in exports"),
    )
    for flag, name, text in ends:
        parser.add_argument(flag, dest=name, metavar="N", type=_message, default=0, help=text)
    add_policy(parser)
    add_model(parser)
    add_window(parser)
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--dry-run", action="store_true", help="show what would happen; write nothing")
    which.add_argument("--undo", action="store_true", help="undo the newest compaction")
    which.add_argument("--redo", action="store_true", help="redo the compaction undone last")
    which.add_argument(
        "--edit-summary",
        metavar="FILE",
        default="",
        help="replace the newest summary by the text of a file; - reads stdin",
    )
    which.add_argument(
        "--verify", action="store_true", help="have the model read the newest summary against its sources"
    )
    add_json(parser)


def _message(text: str) -> int:
    """The number of a message, with or without its sign."""
    number = log_number(text)
    if not number:
        raise argparse.ArgumentTypeError(f"{text:.40}; allowed: the number of a message, such as 12 or #12")
    return number


def execute(program: Program, args: argparse.Namespace) -> int:
    span = Span(args.first, args.last)
    if (args.focus or span.named) and (args.undo or args.redo or args.edit_summary or args.verify):
        wrong = (
            "--focus says what a new summary should keep" if args.focus else "--from and --up-to name a part"
        )
        raise WrongUsage(f"{wrong}; it cannot be combined with --undo, --redo, --edit-summary or --verify.")
    if span.last and span.first > span.last:
        raise WrongUsage(
            f"--from {span.first} comes after --up-to {span.last}: there is nothing between them."
        )
    settings = program.settings(window=args.window, policy=args.policy)
    with program.sessions() as store:
        session = store.info(args.id).id
    opening = replace(program.opening(settings, args, session), passing=True)
    if args.dry_run:
        return run_until_signal(dry_run(opening, args.focus, span, as_json=args.json))
    if args.edit_summary:
        return run_until_signal(
            change_summary(
                opening, EditSummary(0, words_of_file(program, args.edit_summary)), as_json=args.json
            )
        )
    if args.verify:
        return run_until_signal(change_summary(opening, VerifySummary(), as_json=args.json))
    if args.undo or args.redo:
        return run_until_signal(restate(opening, undo=args.undo, as_json=args.json))
    return run_until_signal(
        compact(opening, args.focus, span, extract=args.extract, trial=args.trial, as_json=args.json)
    )


@asynccontextmanager
async def opened_session(opening: Opening) -> AsyncIterator["OpenSession"]:
    """Open a session for writing; hooks that do not simply go well are told."""
    # The agent side takes a second to load: only for those who need it.
    from tui_app.conversation.assembly import open_session

    def tell_hook(record: Record) -> None:
        if isinstance(record.data, HookRan) and record.data.outcome != "ok":
            tell(record.data.headline())

    opened = open_session(opening)
    opened.bus.listen(tell_hook)
    try:
        yield opened
    finally:
        await opened.close()


async def compact(
    opening: Opening,
    focus: str,
    span: Span = WHOLE,
    *,
    extract: bool = False,
    trial: bool = False,
    as_json: bool,
) -> int:
    """Compact a session now.

    Args:
        opening: Which session, with which model, window and policy.
        focus: What the summary should keep above all.
        span: The part of the view to replace, where one was named.
        extract: Whether the summary is written by extraction, without a model.
        trial: Whether the model that will read the view is asked what it can tell of it.
        as_json: Print JSON.

    Returns:
        The exit code.

    Raises:
        CommandFailed: if there is nothing to compact, or the model cannot be used.
    """
    from tui_app.context.compaction.compactor import CompactionRefused
    from tui_app.conversation.inspection import inspect_session

    async with opened_session(opening) as opened:
        # Without its model a summary would silently be a worse one than asked for.
        store, session = opened.store, opened.conversation.session
        known = store.info(session).events
        if extract and not trial:
            # No model is loaded, but its window is what the result has to fit.
            with closing(await inspect_session(opening)) as inspection:
                inspection.measure(opened.conversation.history)
        else:
            await opened.prepare()
        last = store.last_of(session, Error.TYPE)
        if last is not None and last.seq > known and isinstance(last.data, Error):
            raise CommandFailed(
                shell_words(f"{last.data.message} {last.data.hint}".strip(), last.data.actions)
            )
        compactor = opened.conversation.compactor
        try:
            compactor.start("headless", focus, span=span, extract=extract, trial=trial)
        except CompactionRefused as refusal:
            raise CommandFailed(str(refusal)) from refusal
        with ProgressLine("Compacting the conversation") as line:

            def follow(record: Record) -> None:
                if isinstance(progress := record.data, CompactionProgress):
                    part = f"part {progress.part} of {progress.parts} · " if progress.parts > 1 else ""
                    written = f"{numbers.tokens(progress.tokens_written)} written"
                    by = f" · {progress.model}" if progress.model else ""
                    line.update(f"Compacting the conversation · {part}{written}{by}")

            opened.bus.listen(follow)
            complete = await compactor.finish()
        await opened.conversation.settle()
    if complete is None:
        raise CommandFailed("The compaction was cancelled. Nothing changed.")
    if as_json:
        print_json({"session": opened.conversation.session, **complete_json(complete)})
    if complete.outcome != "success":
        tell(f"Compaction {complete.outcome}: {complete.reason}. Nothing changed.")
        return FAILED
    if not as_json:
        _show(complete)
    return OK


def complete_json(complete: CompactionComplete) -> dict[str, object]:
    """A compaction by the JSON names that scripts rely on."""
    return {
        "outcome": complete.outcome,
        "reason": complete.reason,
        "trigger": complete.trigger,
        "policy": complete.policy,
        "performed_by": complete.performed_by,
        "model": complete.model,
        "tokens_before": complete.tokens_before,
        "tokens_after": complete.tokens_after,
        "tokens_removed": complete.tokens_removed,
        "messages_before": complete.messages_before,
        "messages_after": complete.messages_after,
        "messages_removed": complete.messages_removed,
        "messages_left": complete.messages_left,
        "retention": complete.retention,
        "questions": complete.questions,
        "unanswered": list(complete.unanswered),
        "misread": None if complete.misread is None else list(complete.misread),
        "facts": fact_counts(complete.facts),
        "lines": complete.lines,
        "lines_sourced": complete.lines_sourced if complete.lines is not None else None,
        "claims_marked": complete.claims_marked,
        "claims_held": list(complete.claims_held),
        "calls_not_understood": complete.calls_not_understood,
        "files_restored": list(complete.files_restored),
        "checkpoint_path": complete.checkpoint_path,
        "history_path": complete.history_path,
        "duration_s": complete.duration_s,
        "cost_usd": complete.cost_usd,
    }


def _show(complete: CompactionComplete) -> None:
    say(
        f"Compacted {numbers.tokens(complete.tokens_before)} to {numbers.tokens(complete.tokens_after)} "
        f"tokens, {complete.messages_before:,} to {numbers.count(complete.messages_after, 'message')}"
    )
    kept = "" if complete.retention is None else f", {complete.retention:.0%} of the facts kept by weight"
    cost = "" if complete.cost_usd is None else f", {numbers.cost(complete.cost_usd)}"
    writer, took = complete.model or complete.performed_by, numbers.duration(complete.duration_s)
    because = f" ({plain_text(complete.reason)})" if complete.reason else ""
    say(f"Summary by {writer}{because} in {took}{cost}{kept}")
    if complete.facts:
        counts = fact_counts(complete.facts).items()
        told = (f"{number:,} {name.replace('_', ' ')}" for name, number in counts)
        say(f"Facts: {' · '.join(told)}")
    if answers := answers_told(complete.questions, complete.unanswered, complete.misread):
        say(f"Tried: {' · '.join(answers)}")
        for question in dict.fromkeys((*complete.unanswered, *(complete.misread or ()))):
            say(f"  not answered: {plain_text(question)}")
    if sources := lines_told(complete.lines, complete.lines_sourced, complete.claims_marked):
        say(f"Summary: {' · '.join(sources)}")
    if complete.calls_not_understood:
        calls = numbers.count(complete.calls_not_understood, "call")
        say(f"{calls} not understood: what they did is not among the facts")
    if complete.files_restored:
        say(f"Restored as they are on disk: {', '.join(map(plain_text, complete.files_restored))}")
    say(f"Checkpoint: {complete.checkpoint_path}")


async def dry_run(opening: Opening, focus: str, span: Span = WHOLE, *, as_json: bool) -> int:
    """Say what a compaction would set out to do; nothing is written and no model is asked.

    Raises:
        CommandFailed: if there is nothing to compact.
    """
    from tui_app.agent.models import UnknownModel
    from tui_app.context.compaction.plan import Refusal
    from tui_app.conversation.inspection import inspect_session

    try:
        inspection = await inspect_session(opening)
    except UnknownModel as error:
        raise CommandFailed(str(error)) from error
    try:
        policy = policy_of(inspection.store, inspection.session, opening.settings, opening.policy)
        plan = await asyncio.to_thread(inspection.plan, policy, focus, span)
    finally:
        inspection.close()
    if isinstance(plan, Refusal):
        raise CommandFailed(plan.reason)
    planned = {
        "session": inspection.session,
        "dry_run": True,
        **plan_json(plan),
        "policy": policy.name,
        "model": inspection.model,
    }
    if as_json:
        print_json(planned)
    else:
        left = len(plan.split.old)
        say(
            f"Would replace {numbers.count(left, 'message')} by a summary and keep "
            f"{plan.messages_before - left:,}: {numbers.tokens(plan.tokens_before)} to at most "
            f"{numbers.tokens(most_after(plan))} tokens"
        )
        say("Nothing was written.")
    return OK


def plan_json(plan: "Plan") -> dict[str, object]:
    """A plan by the names of a compaction; what only the summary can tell is null.

    Sizes afterwards are the largest that the budgets allow.
    """
    after = most_after(plan)
    left = len(plan.split.old)
    return {
        "trigger": plan.trigger,
        "performed_by": None,
        "tokens_before": plan.tokens_before,
        "tokens_after": after,
        "tokens_removed": max(0, plan.tokens_before - after),
        "messages_before": plan.messages_before,
        "messages_after": plan.messages_before - left + plan.added,
        "messages_removed": left - plan.added,
        "messages_left": left,
        "retention": None,
        "questions": None,
        "unanswered": None,
        "misread": None,
        "facts": None,
        "lines": None,
        "lines_sourced": None,
        "claims_marked": None,
        "claims_held": None,
        "calls_not_understood": None,
        "files_restored": list(plan.files),
        "checkpoint_path": None,
        "duration_s": None,
        "cost_usd": None,
    }


def most_after(plan: "Plan") -> int:
    """Tokens the view has at most when every budget of a plan is used up."""
    from tui_app.context.compaction.plan import tokens_of

    budgets = plan.summary_budget + plan.prompts_budget + plan.facts_budget
    return max(plan.aim, 0) if plan.aim < plan.target else plan.floor + budgets + tokens_of(plan.additions)


async def restate(opening: Opening, *, undo: bool, as_json: bool) -> int:
    """Take the newest compaction back, or redo the one undone last.

    Raises:
        CommandFailed: if there is none.
    """
    async with opened_session(opening) as opened:
        conversation = opened.conversation
        view = conversation.history.view
        numbered = view.compactions if undo else view.undone
        if not numbered:
            from tui_app.conversation.compactions import NO_COMPACTION

            raise CommandFailed(NO_COMPACTION if undo else "Nothing to redo.")
        compaction = numbered[-1]
        await opened.prepare()
        before = conversation.usage
        conversation.submit(Restate(undo, numbered[-1]))
        await conversation.settle()
        after = conversation.usage
    if as_json:
        print_json(
            {
                "session": conversation.session,
                "undone" if undo else "redone": compaction,
                "tokens_before": before.total,
                "tokens_after": after.total,
                "messages_before": before.messages,
                "messages_after": after.messages,
            }
        )
    else:
        done = "Undone" if undo else "Redone"
        say(f"{done}: {numbers.tokens(before.total)} to {numbers.tokens(after.total)} tokens")
    return OK


async def change_summary(opening: Opening, work: EditSummary | VerifySummary, *, as_json: bool) -> int:
    """Give the newest summary in force other words, or have a model read it against its sources.

    Args:
        opening: Which session, with which model and window.
        work: What is done to it.
        as_json: Print JSON.

    Returns:
        The exit code.

    Raises:
        CommandFailed: if there is no such summary, or the words are refused.
    """
    heard: list[Record] = []
    async with opened_session(opening) as opened:
        conversation = opened.conversation
        if not conversation.history.view.compactions:
            raise CommandFailed("There is no compaction in force.")
        await opened.prepare()
        opened.bus.listen(heard.append)
        conversation.submit(work)
        await conversation.settle()
    edits = [record.data for record in heard if isinstance(record.data, CompactionEdited)]
    told = " ".join(record.data.text for record in heard if isinstance(record.data, Notice))
    if not edits and isinstance(work, VerifySummary) and told.endswith("doubtful."):
        print_json({"session": conversation.session, "result": told}) if as_json else say(told)
        return OK
    if not edits:
        raise CommandFailed(for_shell(told) or "The summary was not edited.")
    edit = edits[-1]
    if as_json:
        print_json(
            {
                "session": conversation.session,
                "edited": edit.compaction,
                "tokens_before": edit.tokens_before,
                "tokens_after": edit.tokens_after,
                "retention": edit.retention,
                "summary": edit.summary,
            }
        )
    else:
        sizes = f"{numbers.tokens(edit.tokens_before)} to {numbers.tokens(edit.tokens_after)} tokens"
        say(f"Edited the summary #{edit.compaction}: {sizes}")
    return OK


# A new session with a brief of an earlier one, which stays as it is.

_NO_GOAL = "What is the new session for? plimsoll handoff {} GOAL"


def configure_handoff(parser: argparse.ArgumentParser) -> None:
    add_session(parser)
    parser.add_argument("goal", metavar="GOAL", nargs="*", help="what the new session is for")
    parser.add_argument("--extract", action="store_true", help="write the brief without a model")
    parser.add_argument(
        "--brief", metavar="FILE", default=None, help="use the text of a file as the brief; - reads stdin"
    )
    parser.add_argument("--dry-run", action="store_true", help="only show the brief; start no session")
    add_model(parser)
    add_window(parser)
    add_json(parser)


def execute_handoff(program: Program, args: argparse.Namespace) -> int:
    goal = " ".join(args.goal).strip()
    if not goal:
        raise WrongUsage(_NO_GOAL.format(args.id))
    if args.brief == "":
        raise WrongUsage("--brief needs the name of a file, or - for stdin.")
    if args.brief and args.dry_run:
        raise WrongUsage("--brief starts a session with your text; it cannot be combined with --dry-run.")
    settings = program.settings(window=args.window)
    with program.sessions() as store:
        session = store.info(args.id).id
    words = words_of_file(program, args.brief) if args.brief else None
    opening = program.opening(settings, args, session)
    return run_until_signal(
        hand_over(
            opening,
            goal,
            words,
            extract=args.extract or words is not None,
            dry_run=args.dry_run,
            as_json=args.json,
        )
    )


async def hand_over(
    opening: Opening, goal: str, words: str | None, *, extract: bool, dry_run: bool, as_json: bool
) -> int:
    """Write the brief of a session, and begin a new one with it.

    Args:
        opening: Which session, with which model and window.
        goal: What the new session is for.
        words: The brief as the user wants it; None takes it as it is written.
        extract: Whether no model is asked.
        dry_run: Whether the brief is only shown.
        as_json: Print JSON.

    Raises:
        CommandFailed: if nothing can be handed over, or the model is unknown.
    """
    from tui_app.agent.models import UnknownModel
    from tui_app.conversation.handoff import HandoffRefused, begin_session, write_brief

    try:
        with ProgressLine("Writing the brief") as line:

            def follow(progress: CompactionProgress) -> None:
                written = f"{numbers.tokens(progress.tokens_written)} written"
                model = f" · {progress.model}" if progress.model else ""
                line.update(f"Writing the brief · {written}{model}")

            draft = await write_brief(opening, goal, follow, extract=extract)
        text = draft.brief.text if words is None else words
        begun = "" if dry_run else await asyncio.to_thread(begin_session, opening, draft, text)
    except (HandoffRefused, UnknownModel) as refused:
        raise CommandFailed(for_shell(str(refused))) from refused
    if as_json:
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
    """A brief by the JSON names that scripts rely on; no session is null."""
    from tui_app.context.secrets import mask_secrets

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


COMMANDS = (
    Command(
        name="compact",
        usage="ID",
        summary="Compact a session, or undo a compaction.",
        configure=configure,
        execute=execute,
    ),
    Command(
        name="handoff",
        usage="ID GOAL",
        summary="Start a new session from a brief of another one.",
        configure=configure_handoff,
        execute=execute_handoff,
    ),
)
