"""Audits of sessions as plain text, for the screen and the command line."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any

from tui_app.events import answers_text
from tui_app.session.exports.audit_page import LABELS, STATES, number_of
from tui_app.session.stores.database import Database, open_store
from tui_app.ui.words.text import clean, count, counted_text, one_line, percent, table_lines, tokens

if TYPE_CHECKING:
    from tui_app.context.policy import Policy
    from tui_app.conversation.audits.audit import Audit

_NAME_CELLS = 400
_MOST = 40
"""Maximum number of list items shown; JSON and page have them all."""


def audit_lines(audit: Mapping[str, Any]) -> Iterator[str]:
    """Yield the report of one conversation.

    Args:
        audit: From ``Audit.to_json``.
    """
    model = f", counted as {audit['model']}" if audit["model"] else ""
    compactions: Sequence[Mapping[str, Any]] = audit["compactions"]
    name = one_line(audit["source"], _NAME_CELLS)
    yield _line(
        f"{name} ({audit['format']}): {count(audit['messages'], 'message')}, "
        f"{tokens(audit['tokens'])} tokens, {count(len(compactions), 'compaction')}{model}"
    )
    if not compactions:
        yield "It was never compacted: nothing was lost."
        return
    for number, compaction in enumerate(compactions, 1):
        yield ""
        yield from compaction_lines(compaction, f"Compaction {number}")
        yield from _policies(compaction["policies"], audit["window"])
    if len(compactions) > 1:
        yield ""
        yield from total_lines(audit["total"], "All of them")


def compaction_lines(found: Mapping[str, Any], name: str = "Compaction") -> Iterator[str]:
    """Yield the report of one compaction, without the policies.

    Args:
        found: From ``AuditedCompaction.to_json``.
        name: What it is called.
    """
    trigger = f", {found['trigger']}" if found["trigger"] else ""
    undone = ", undone later" if found["undone"] else ""
    yield _line(f"{name}, after message {found['message']:,}{trigger}{undone}")
    before, after = found["messages_before"], found["messages_after"]
    counted = [(found[f"tokens_{when}"], found[f"reported_{when}"]) for when in ("before", "after")]
    sizes = (counted_text(here, there or here) for here, there in counted)
    yield f"{' to '.join(sizes)} tokens, {before:,} to {count(after, 'message')}"
    way = f"what was removed {'can still be looked up' if found['way_back'] else 'cannot be recovered'}"
    yield f"{percent(found['retention'])} of the facts by weight were kept; {way}"
    yield from answers_text(found["questions"], found["unanswered"])
    yield ""
    yield from _kinds(found["facts"])
    yield from _list("Your words lost", [fact["text"] for fact in found["rules_gone"]])
    yield from _list("Open errors lost", [fact["text"] for fact in found["errors_gone"]])
    if found["unanswered"]:
        yield from _list("Questions not answered", found["unanswered"])
    if found["statements"]:
        claims: Sequence[str] = found["claims"]
        yield from _list(f"Lines not in the log, of {found['statements']:,}", claims)


def total_lines(total: Mapping[str, Any], name: str) -> Iterator[str]:
    """Yield the totals of several compactions."""
    undone = f" ({total['undone']:,} more undone later and left out)" if total["undone"] else ""
    yield _line(
        f"{name}: {count(total['compactions'], 'compaction')}{undone}, {tokens(total['tokens_before'])} to "
        f"{tokens(total['tokens_after'])} tokens, {count(total['rules_gone'], 'sentence')} of the user and "
        f"{count(total['errors_gone'], 'open error')} gone, {total['claims']:,} of "
        f"{count(total['statements'], 'statement')} not in the log"
    )
    yield from _kinds(total["facts"])


def _kinds(facts: Mapping[str, Mapping[str, int]]) -> Iterator[str]:
    rows = [
        (LABELS[kind], *(f"{counts[state]:,}" for state in STATES))
        for kind, counts in facts.items()
        if any(counts.values())
    ]
    if rows:
        yield from table_lines([("facts", *STATES), *rows], right=(1, 2, 3))
    else:
        yield "No facts were found."


def _policies(policies: Sequence[Mapping[str, Any]], window: int | None) -> Iterator[str]:
    if not policies:
        return
    yield ""
    place = f"in a window of {tokens(window or 0)}"
    yield f"What each policy would have kept of these facts, names aside, {place}"
    rows = [
        (
            each["policy"],
            percent(each["retention"]),
            *(f"{number_of(each['facts'], state):,}" for state in STATES),
            tokens(each["tokens"]),
            "" if each["fits"] else "too large for the window",
        )
        for each in policies
    ]
    heads = ("policy", "by weight", *STATES, "context", "")
    yield from table_lines([heads, *rows], right=range(1, 6))


def _list(heading: str, items: Sequence[str]) -> Iterator[str]:
    yield ""
    yield f"{heading}: {len(items):,}"
    for item in items[:_MOST]:
        yield _line(f"- {item}", indent="  ")
    if len(items) > _MOST:
        yield f"  and {len(items) - _MOST:,} more"


def _line(text: str, indent: str = "") -> str:
    """Clean a text, indenting all but its first line."""
    return f"\n{indent}".join(line for line in clean(text).splitlines() if line.strip())


def read_audit(database: Database, session: str, only: int = 0, policies: "Sequence[Policy]" = ()) -> "Audit":
    """Audit a session with a separate connection; slow, so call it in a thread.

    Args:
        database: Where sessions are stored.
        session: Its id.
        only: Log number of the only compaction to audit; 0 for all.
        policies: Policies to replay as well.
    """
    # The agent side takes a second to load.
    from tui_app.conversation.audits.audit import audit, with_policies
    from tui_app.conversation.audits.transcript import recorded_session

    with closing(open_store(database, read_only=True)) as store:
        found = audit(recorded_session(store, session), only)
        return asyncio.run(with_policies(found, policies, lambda *_: None))
