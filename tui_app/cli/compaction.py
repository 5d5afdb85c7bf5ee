"""The work of ``plimsoll compact``: the same compactor as on the screen, with trigger ``headless``."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tui_app.agent.models import UnknownModel
from tui_app.cli.command import FAILED, OK, CommandFailed
from tui_app.cli.failures import for_shell
from tui_app.cli.output import ProgressLine, print_json, say, tell
from tui_app.context.compaction.compactor import CompactionRefused
from tui_app.context.compaction.plan import Plan, Refusal, tokens_of
from tui_app.context.compaction_range import WHOLE, Span
from tui_app.conversation.assembly import OpenSession, open_session
from tui_app.conversation.compactions import NO_COMPACTION
from tui_app.conversation.inspection import inspect_session
from tui_app.conversation.open_request import Opening
from tui_app.conversation.policies import policy_of
from tui_app.conversation.work import EditSummary, Restate
from tui_app.events import (
    CompactionComplete,
    CompactionEdited,
    CompactionProgress,
    Error,
    HookRan,
    Notice,
    Record,
)
from tui_app.session.event_heads import hook_title
from tui_app.ui import text as numbers


@asynccontextmanager
async def opened_session(opening: Opening) -> AsyncIterator[OpenSession]:
    """A session that is open for writing, with what its hooks said told."""
    opened = open_session(opening)
    opened.bus.listen(_tell_hook)
    try:
        yield opened
    finally:
        await opened.close()


def _tell_hook(record: Record) -> None:
    """Say what came of a hook that did not simply go well."""
    if isinstance(record.data, HookRan) and record.data.outcome != "ok":
        tell(hook_title(record.data))


async def compact(opening: Opening, focus: str, span: Span = WHOLE, *, as_json: bool) -> int:
    """Compact a session now.

    Args:
        opening: Which session, with which model, window and policy.
        focus: What the summary should keep above all.
        span: The part of the view to replace, where one was named.
        as_json: Print JSON.

    Returns:
        The exit code.

    Raises:
        CommandFailed: if there is nothing to compact, or the model cannot be used.
    """
    async with opened_session(opening) as opened:
        await _prepared(opened)
        compactor = opened.conversation.compactor
        try:
            compactor.start("headless", focus, span=span)
        except CompactionRefused as refusal:
            raise CommandFailed(str(refusal)) from refusal
        with ProgressLine("Compacting the conversation") as line:
            opened.bus.listen(lambda record: _follow(line, record))
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


def _follow(line: ProgressLine, record: Record) -> None:
    if isinstance(progress := record.data, CompactionProgress):
        part = f"part {progress.part} of {progress.parts} · " if progress.parts > 1 else ""
        by = f" · {progress.model}" if progress.model else ""
        line.update(
            f"Compacting the conversation · {part}{numbers.tokens(progress.tokens_written)} written{by}"
        )


async def _prepared(opened: OpenSession) -> None:
    """Build the model; without it a summary would silently be a worse one than asked for."""
    store, session = opened.store, opened.conversation.session
    known = store.info(session).events
    await opened.prepare()
    last = store.last_of(session, Error.TYPE)
    if last is not None and last.seq > known and isinstance(last.data, Error):
        raise CommandFailed(for_shell(f"{last.data.message} {last.data.hint}".strip()))


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
        "retention": complete.retention,
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
    say(f"Summary by {writer} in {took}{cost}{kept}")
    say(f"Checkpoint: {complete.checkpoint_path}")


async def dry_run(opening: Opening, focus: str, span: Span = WHOLE, *, as_json: bool) -> int:
    """Say what a compaction would set out to do; nothing is written and no model is asked.

    Raises:
        CommandFailed: if there is nothing to compact.
    """
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
        _show_plan(plan)
    return OK


def plan_json(plan: Plan) -> dict[str, object]:
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
        "retention": None,
        "checkpoint_path": None,
        "duration_s": None,
        "cost_usd": None,
    }


def most_after(plan: Plan) -> int:
    """Tokens the view has at most when every budget of a plan is used up."""
    budgets = plan.summary_budget + plan.prompts_budget + plan.facts_budget
    return plan.floor + budgets + tokens_of(plan.additions)


def _show_plan(plan: Plan) -> None:
    left = numbers.count(len(plan.split.old), "message")
    say(
        f"Would replace {left} by a summary and keep {plan.messages_before - len(plan.split.old):,}: "
        f"{numbers.tokens(plan.tokens_before)} to at most {numbers.tokens(most_after(plan))} tokens"
    )
    say("Nothing was written.")


async def restate(opening: Opening, *, undo: bool, as_json: bool) -> int:
    """Take the newest compaction back, or let the one undone last stand again.

    Raises:
        CommandFailed: if there is none.
    """
    async with opened_session(opening) as opened:
        conversation = opened.conversation
        view = conversation.history.view
        numbered = view.compactions if undo else view.undone
        if not numbered:
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


# The work of ``plimsoll compact --edit-summary``: other words for the newest summary, as one event.


async def edit_summary(opening: Opening, text: str, *, as_json: bool) -> int:
    """Give the newest summary that stands other words.

    Args:
        opening: Which session, with which model and window.
        text: The notes as they are to be.
        as_json: Print JSON.

    Returns:
        The exit code.

    Raises:
        CommandFailed: if there is no such summary, or the words cannot stand there.
    """
    heard: list[Record] = []
    async with opened_session(opening) as opened:
        conversation = opened.conversation
        if not conversation.history.view.compactions:
            raise CommandFailed("Nothing to edit: no compaction stands.")
        await opened.prepare()
        opened.bus.listen(heard.append)
        conversation.submit(EditSummary(0, text))
        await conversation.settle()
    edits = [record.data for record in heard if isinstance(record.data, CompactionEdited)]
    if not edits:
        reasons = [record.data.text for record in heard if isinstance(record.data, Notice)]
        raise CommandFailed(for_shell(" ".join(reasons)) or "The summary was not edited.")
    _editing_show(conversation.session, edits[-1], as_json=as_json)
    return OK


def _editing_show(session: str, edit: CompactionEdited, *, as_json: bool) -> None:
    if as_json:
        print_json(
            {
                "session": session,
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
