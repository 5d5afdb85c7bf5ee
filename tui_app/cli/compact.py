"""``plimsoll compact``: compact a session, preview that, or undo it.

It uses the screen's compactor, with the trigger ``headless``.
"""

import argparse
import asyncio
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

from tui_app.cli.core.command import FAILED, OK, CommandFailed, Program, WrongUsage
from tui_app.cli.core.opened_session import carry_out, notices_in, opened_session
from tui_app.cli.core.output import answer, print_json, say, sizes_json, tell
from tui_app.cli.core.progress_line import ProgressLine
from tui_app.cli.core.signals import run_until_signal
from tui_app.cli.core.stdin import read_text_argument
from tui_app.conversation.requests.open_request import Opening
from tui_app.conversation.requests.policies import policy_of
from tui_app.conversation.work import EditSummary, Restate, VerifySummary
from tui_app.events import (
    CompactionComplete,
    CompactionEdited,
    CompactionProgress,
    Error,
    Record,
    answers_text,
    fact_counts,
    lines_text,
)
from tui_app.next_steps import shell_text
from tui_app.references import Span
from tui_app.text import plain_text
from tui_app.ui.words import text as numbers

if TYPE_CHECKING:
    from tui_app.context.compaction.plan import Plan


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
    opening = replace(program.opening(settings, args, program.session(args.id).id), passing=True)
    if args.dry_run:
        work = _plan(opening, args, span)
    elif args.edit_summary:
        work = _change(opening, args, EditSummary(0, read_text_argument(program, args.edit_summary)))
    elif args.verify:
        work = _change(opening, args, VerifySummary())
    elif args.undo or args.redo:
        work = _restate(opening, args)
    else:
        work = _compact(opening, args, span)
    return run_until_signal(work)


async def _compact(opening: Opening, args: argparse.Namespace, span: Span) -> int:
    """Compact a session now.

    Raises:
        CompactionRefused: if there is nothing to compact.
        CommandFailed: if the model cannot be used.
    """
    from tui_app.conversation.inspection import inspect_session

    async with opened_session(opening) as opened:
        # Without its model, the summary would silently be worse than requested.
        store, session, history = opened.store, opened.conversation.session, opened.conversation.history
        known = store.info(session).events
        if args.extract and not args.trial:
            # No model is loaded, but the result has to fit its window.
            with closing(await inspect_session(opening)) as inspection:
                history.set_overhead(inspection.history.overhead, history.model)
        else:
            await opened.prepare()
        last = store.last_of(session, Error.TYPE)
        if last is not None and last.seq > known and isinstance(last.data, Error):
            raise CommandFailed(
                shell_text(f"{last.data.message} {last.data.hint}".strip(), last.data.actions)
            )
        compactor, how = opened.conversation.compactor, {"extract": args.extract, "trial": args.trial}
        compactor.start("headless", args.focus, span=span, **how)
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
    if args.json:
        print_json({"session": opened.conversation.session, **complete_json(complete)})
    if complete.outcome != "success":
        tell(f"Compaction {complete.outcome}: {complete.reason}. Nothing changed.")
        return FAILED
    if not args.json:
        _show(complete)
    return OK


FIGURES = (
    *("outcome", "reason", "trigger", "policy", "performed_by", "model"),
    *("tokens_before", "tokens_after", "tokens_removed"),
    *("messages_before", "messages_after", "messages_removed", "messages_left"),
    *("retention", "facts", "questions", "unanswered", "misread"),
    *("lines", "lines_sourced", "claims_marked", "claims_held", "calls_not_understood"),
    *("files_restored", "checkpoint_path", "history_path", "duration_s", "cost_usd"),
)
"""Figures reported for a compaction, by the names in its event."""


def complete_json(complete: CompactionComplete) -> dict[str, object]:
    """Return a compaction with the JSON names that scripts rely on."""
    figures = {name: getattr(complete, name) for name in FIGURES}
    return {
        **{name: list(value) if isinstance(value, tuple) else value for name, value in figures.items()},
        "facts": fact_counts(complete.facts),
        "lines_sourced": complete.lines_sourced if complete.lines is not None else None,
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
        states = (f"{number:,} {name.replace('_', ' ')}" for name, number in counts)
        say(f"Facts: {' · '.join(states)}")
    if answers := answers_text(complete.questions, complete.unanswered, complete.misread):
        say(f"Tried: {' · '.join(answers)}")
        for question in dict.fromkeys((*complete.unanswered, *(complete.misread or ()))):
            say(f"  not answered: {plain_text(question)}")
    if sources := lines_text(complete.lines, complete.lines_sourced, complete.claims_marked):
        say(f"Summary: {' · '.join(sources)}")
    if complete.calls_not_understood:
        calls = numbers.count(complete.calls_not_understood, "call")
        say(f"{calls} not understood: what they did is not among the facts")
    if complete.files_restored:
        say(f"Restored as they are on disk: {', '.join(map(plain_text, complete.files_restored))}")
    say(f"Checkpoint: {complete.checkpoint_path}")


async def _plan(opening: Opening, args: argparse.Namespace, span: Span) -> int:
    """Show what a compaction would do. Nothing is written and no model is used."""
    from tui_app.conversation.inspection import inspect_session

    with closing(await inspect_session(opening)) as inspection:
        policy = policy_of(inspection.store, inspection.history.session, opening.settings, opening.policy)
        plan = await asyncio.to_thread(inspection.plan, policy, args.focus, span)
    if isinstance(plan, str):
        raise CommandFailed(plan)
    about = {"session": inspection.history.session, "dry_run": True}
    made = {"policy": policy.name, "model": inspection.history.model}
    left = len(plan.split.old)
    answer(
        {**about, **plan_json(plan), **made},
        f"Would replace {numbers.count(left, 'message')} by a summary and keep "
        f"{plan.messages_before - left:,}: {numbers.tokens(plan.tokens_before)} to at most "
        f"{numbers.tokens(most_after(plan))} tokens",
        "Nothing was written.",
        as_json=args.json,
    )
    return OK


def plan_json(plan: "Plan") -> dict[str, object]:
    """Return a plan with the JSON names of a compaction; what only the summary can tell is null.

    Sizes afterwards are the largest that the budgets allow.
    """
    after = most_after(plan)
    left = len(plan.split.old)
    return {
        **dict.fromkeys(FIGURES),
        "trigger": plan.trigger,
        "tokens_before": plan.tokens_before,
        "tokens_after": after,
        "tokens_removed": max(0, plan.tokens_before - after),
        "messages_before": plan.messages_before,
        "messages_after": plan.messages_before - left + plan.added,
        "messages_removed": left - plan.added,
        "messages_left": left,
        "files_restored": list(plan.files),
    }


def most_after(plan: "Plan") -> int:
    """Return the maximum tokens of the view when every budget of a plan is used up."""
    from tui_app.context.compaction.plan import tokens_of

    budgets = plan.summary_budget + plan.prompts_budget + plan.facts_budget
    return max(plan.aim, 0) if plan.aim < plan.target else plan.floor + budgets + tokens_of(plan.additions)


async def _restate(opening: Opening, args: argparse.Namespace) -> int:
    """Undo the newest compaction, or redo the one undone last.

    Raises:
        CommandFailed: if there is none.
    """
    async with opened_session(opening) as opened:
        conversation = opened.conversation
        view = conversation.history.view
        numbered = view.compactions if args.undo else view.undone
        if not numbered:
            from tui_app.conversation.compactions.compactions import NO_COMPACTION

            raise CommandFailed(NO_COMPACTION if args.undo else "Nothing to redo.")
        compaction = numbered[-1]
        await opened.prepare()
        before = conversation.usage
        await carry_out(opened, Restate(args.undo, compaction))
        after = conversation.usage
    done = "undone" if args.undo else "redone"
    answer(
        {"session": conversation.session, done: compaction, **sizes_json(before, after)},
        f"{done.capitalize()}: {numbers.tokens(before.total)} to {numbers.tokens(after.total)} tokens",
        as_json=args.json,
    )
    return OK


async def _change(opening: Opening, args: argparse.Namespace, work: EditSummary | VerifySummary) -> int:
    """Edit the newest active summary, or have a model check it against its sources.

    Raises:
        CommandFailed: if there is no such summary, or the edit is refused.
    """
    async with opened_session(opening) as opened:
        conversation = opened.conversation
        if not conversation.history.view.compactions:
            raise CommandFailed("There is no compaction in force.")
        await opened.prepare()
        records = await carry_out(opened, work)
    edits = [record.data for record in records if isinstance(record.data, CompactionEdited)]
    notice = " ".join(notices_in(records))
    if not edits and isinstance(work, VerifySummary) and notice.endswith("doubtful."):
        answer({"session": conversation.session, "result": notice}, notice, as_json=args.json)
        return OK
    if not edits:
        raise CommandFailed(notice or "The summary was not edited.")
    edit = edits[-1]
    figures = {
        name: getattr(edit, name) for name in ("tokens_before", "tokens_after", "retention", "summary")
    }
    sizes = f"{numbers.tokens(edit.tokens_before)} to {numbers.tokens(edit.tokens_after)} tokens"
    answer(
        {"session": conversation.session, "edited": edit.compaction, **figures},
        f"Edited the summary #{edit.compaction}: {sizes}",
        as_json=args.json,
    )
    return OK
