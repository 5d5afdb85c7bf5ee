"""``plimsoll audit``: what the compactions of a conversation lost, as table, JSON and page."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tui_app.cli.core.command import FAILED, OK, Program, WrongUsage, writable
from tui_app.cli.core.failures import each_source
from tui_app.cli.core.opened_session import recorded
from tui_app.cli.core.output import print_json, print_skipped, say
from tui_app.cli.core.progress_line import ProgressLine
from tui_app.cli.core.signals import run_until_signal
from tui_app.conversation.requests.policies import choose_policy, policy_names
from tui_app.files import write_atomic
from tui_app.session.exports.audit_page import audit_page
from tui_app.ui.words.reports import audit_lines, total_lines
from tui_app.ui.words.text import one_line

if TYPE_CHECKING:
    from tui_app.context.policy import Policy
    from tui_app.conversation.audits.audit import Audit

_NAME_CELLS = 400


def execute(program: Program, args: argparse.Namespace) -> int:
    """Audit several conversations; an unreadable one does not stop the others."""
    from tui_app.conversation.audits.audit import report

    if "" in (args.html, *args.sources):
        raise WrongUsage("The file name is empty. Is a variable unset?")
    settings = program.settings()
    target = (
        writable(Path(args.html), "--html", "page", lambda start: start.lower().startswith(b"<!doctype html"))
        if args.html
        else None
    )
    policies = [choose_policy(settings, name) for name in policy_names(settings)]
    # A file may be named in several ways: the first one counts.
    places = {Path(each).resolve() if Path(each).exists() else each: each for each in reversed(args.sources)}
    sources = tuple(reversed(places.values()))
    done: list[Audit] = []

    def work(source: str) -> int:
        return _audit(program, source, policies, done, as_json=args.json)

    notice = "Stopped. Audited: {:,} of {:,}. No page was written."
    if stopped := each_source(sources, work, lambda *_: notice.format(len(done), len(sources)))[0]:
        return stopped
    found = report(done)
    if args.json and done:
        print_json(found)
    if target is not None and done:
        write_atomic(target, audit_page(found))
    if not args.json and done:
        if len(done) > 1:
            for line in total_lines(found["total"], "Total"):
                say(line)
        if target is not None:
            say(f"Written: {one_line(str(target), _NAME_CELLS)}")
    return OK if len(done) == len(sources) else FAILED


def _audit(
    program: Program, source: str, policies: "Sequence[Policy]", done: "list[Audit]", *, as_json: bool
) -> int:
    """Audit a conversation, print the result, and append it to ``done``.

    Returns:
        The exit code of a signal that stopped it, else 0.
    """
    # Imported here: loading the agent side takes a second.
    from tui_app.conversation.audits.audit import audit, with_policies

    with ProgressLine(f"Reading {source}") as line, recorded(program, source) as read:
        line.update(f"Auditing {source}")
        # Outside of the event loop, so that ctrl+c ends it at once.
        audited = audit(read)

        def watch(policy: str, replayed: int, of: int) -> None:
            line.update(f"Replaying {replayed * 100 // max(1, of)}%, {policy}, {Path(source).name}")

        async def compare() -> int:
            done.append(await with_policies(audited, policies, watch))
            return OK

        stopped = run_until_signal(compare())
    if not stopped and not as_json:
        for row in audit_lines(done[-1].to_json()):
            say(row)
        print_skipped(audited.recorded.notes, audited.recorded.skipped)
        say()
    return stopped
