"""``plimsoll agents``: the subagents of a session."""

import argparse
from dataclasses import replace

from tui_app.cli.core.command import Program
from tui_app.cli.core.output import answer
from tui_app.cli.program import latest_session
from tui_app.session.background import where_open
from tui_app.session.sub_agents import ENDED, SentAgent, read_sent_agents
from tui_app.ui.words.cost_words import price_text
from tui_app.ui.words.text import one_line, table_lines, tokens

HEADS = ("name", "state", "steps", "tokens", "cost", "session", "task")
_TASK_CELLS = 60


def execute(program: Program, args: argparse.Namespace) -> None:
    """Print the subagents of one session, which is only read."""
    with program.sessions() as store:
        info = store.info(args.id) if args.id else latest_session(store.sessions(), program.cwd)
        is_open = bool(where_open(store, program.paths.sessions_dir, info.id))
        found = [_as_seen(each, is_open=is_open) for each in reversed(read_sent_agents(store, info.id))]
    rows = [
        (
            each.start.name,
            each.state,
            str(each.sums.steps),
            tokens(each.sums.input_tokens + each.sums.output_tokens),
            price_text(each.sums.cost_usd, each.sums.cost_usd is None and each.sums.steps),
            each.start.session,
            one_line(each.start.task, _TASK_CELLS),
        )
        for each in found
    ]
    none = [f"{info.id} has sent no sub-agents."]
    answer(
        {"session": info.id, "agents": [each.to_json() for each in found]},
        *(table_lines([HEADS, *rows], right=(2, 3, 4)) if rows else none),
        as_json=args.json,
    )


def _as_seen(agent: SentAgent, *, is_open: bool) -> SentAgent:
    """List a subagent whose program was killed as stopped, as reopening the session does."""
    if is_open or not agent.is_at_work:
        return agent
    return replace(agent, is_at_work=False, sums=replace(agent.sums, outcome="stopped", reason=ENDED))
