"""Handoff: a new session that starts from a brief of an old one, which stays unchanged."""

import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from typing import Any

from tui_app.agent.errors import describe_error
from tui_app.context.binding.forms import with_session
from tui_app.context.compaction.handoff import Brief, BriefWriter
from tui_app.context.counting.tokens import TokenCounter
from tui_app.context.history import ignore
from tui_app.context.message_marks import brief_of, handoff_text, inbox_message
from tui_app.context.views.view import is_prompt
from tui_app.conversation.compactions.summary_writers import SummaryWriters
from tui_app.conversation.history.session_history import SessionHistory
from tui_app.conversation.history.view_messages import storable
from tui_app.conversation.inspection import Inspection, inspect_session
from tui_app.conversation.requests.open_request import Opening
from tui_app.conversation.requests.policies import policy_of
from tui_app.conversation.turns.goals import goal_additions, in_force
from tui_app.events import (
    AssistantMessage,
    CompactionProgress,
    Error,
    Handoff,
    SessionEnd,
    SessionStart,
    ToolCall,
    ToolResult,
    UserMessage,
)
from tui_app.records import frozen, like
from tui_app.refusals import Refusal
from tui_app.session.model_state import newest_event
from tui_app.session.stores.database import open_store
from tui_app.session.stores.store import SessionInfo
from tui_app.system.secrets import mask_secrets
from tui_app.text import plain_line, without_sequences

NO_GOAL = "What is the new session for? Name its goal, as in /handoff write the release notes."
NOTHING_SAID = "Nothing to hand over: nothing has been said in this session yet."
BUSY = "An answer is being written in that session. Wait for its end, or stop it, then hand over."
EMPTY = "The brief is empty. Nothing changed."
MOST_GOAL_CHARS = 2_000
_LONG_GOAL = "A goal may have {:,} characters; this one has {:,}. Say the rest as a prompt there."
_LARGE = "The brief has {:,} tokens, more than half of what {} takes ({:,}). Shorten it. Nothing changed."
_TITLE_CHARS = 80


@frozen
class Draft:
    """A brief that has not started a session yet."""

    source: SessionInfo
    policy: str
    brief: Brief
    counter: TokenCounter
    room: int
    """Maximum tokens of the brief: half of its model's window."""

    def tokens_of(self, text: str) -> int:
        """Tokens of the brief with this text, including its frame."""
        return self.counter.message(inbox_message(handoff_text(text, self.source.id))).total

    @property
    def title(self) -> str:
        """Title of the session that would start from it."""
        return plain_line(self.brief.goal)[:_TITLE_CHARS]


Listener = Callable[[CompactionProgress], object]
"""Receives what the model has written so far."""


async def write_brief(
    opening: Opening, goal: str, progress: Listener = ignore, *, extract: bool = False
) -> Draft:
    """Write the brief of a session. Nothing is logged.

    Args:
        opening: Which session; its model writes the brief.
        goal: What the new session is for.
        progress: Receives what the model has written so far.
        extract: Whether to write it without a model.

    Raises:
        Refusal: if there is no goal, the session is empty, or an answer is being written.
        SessionNotFound: if the id fits no session.
        UnknownModel: if there is no such model.
        sqlite3.Error: if the sessions cannot be read.
    """
    if not any(sign.isprintable() and not sign.isspace() for sign in without_sequences(goal)):
        raise Refusal(NO_GOAL)
    if len(goal) > MOST_GOAL_CHARS:
        raise Refusal(_LONG_GOAL.format(MOST_GOAL_CHARS, len(goal)))
    inspection = await inspect_session(opening)
    settings, history, store = opening.settings, inspection.history, inspection.store
    with closing(inspection):
        source = store.info(history.session)
        handed = newest_event(store, source.id, Handoff)
        if handed is None and not any(is_prompt(item.message) for item in history.everything()):
            raise Refusal(NOTHING_SAID)
        if _is_answering(history):
            raise Refusal(BUSY)
        policy = policy_of(store, source.id, settings, opening.policy)
        notes = (each for each in inspection.extras.additions() if each.tool)
        brief = await brief_of_session(
            inspection,
            opening,
            extract=extract,
            policy=policy,
            goal=mask_secrets(goal.strip()),
            additions=[*goal_additions(store, source.id), *notes],
            carried=with_session(brief_of(handed.text), handed.from_session) if handed is not None else "",
            progress=progress,
        )
        room = history.usage().window.effective // 2
        return Draft(source, policy.name, brief, history.counter, room)


async def brief_of_session(inspection: Inspection, opening: Opening, *, extract: bool, **what: Any) -> Brief:
    """Write the brief of a session, with its model unless ``extract`` is set."""
    history, text = inspection.history, inspection.text
    writers = SummaryWriters(history, inspection.shelf, text, opening.settings)
    writer = BriefWriter(
        history=history,
        count=lambda words: round(text.count(words) * history.factor),
        describe=lambda error: describe_error(error, model=history.model).message.rstrip("."),
        timeout_s=opening.settings.summary_timeout_s,
        **what,
    )
    brief = await writer.write(writers.choose("manual"), extract=extract)
    unknown = "" if extract else inspection.unknown.rstrip(".")
    return replace(brief, reason=unknown or brief.reason)


def _is_answering(history: SessionHistory) -> bool:
    """Whether a process has the session open and its newest message waits for a model."""
    kinds = (UserMessage, AssistantMessage, ToolCall, ToolResult, Error)
    last = next(history.store.newest(history.session, [kind.TYPE for kind in kinds]), None)
    if last is None or last.type == Error.TYPE or (last.type == AssistantMessage.TYPE and not last.ids):
        return False
    return bool(history.store.holder(history.session, history.archive.folder.lock_file))


def begin_session(opening: Opening, draft: Draft, text: str) -> str:
    """Start a session from a brief, with the folder, model and policy of the source session.

    Blocks while it is written.

    Args:
        opening: Where sessions are kept.
        draft: The brief as it was written.
        text: The brief as the user edited it.

    Returns:
        Id of the new session. Nothing else changes.

    Raises:
        Refusal: if the brief is empty, or too large for the model.
        sqlite3.Error: if the session cannot be written; nothing of it is left then.
    """
    if not text.strip():
        raise Refusal(EMPTY)
    text = mask_secrets(text)
    if (size := draft.tokens_of(text)) > draft.room:
        raise Refusal(_LARGE.format(size, draft.source.model, 2 * draft.room))
    brief, source, now = draft.brief, draft.source, time.time()
    content = handoff_text(text, source.id)
    stored, message = storable(inbox_message(content))
    handoff = like(
        Handoff,
        brief,
        text=content,
        from_session=source.id,
        from_title=source.title,
        edited=text.strip() != brief.text.strip(),
        claims_marked=brief.marked,
        tokens=draft.counter.message(message).nonzero(),
    )
    start = like(SessionStart, source, policy=draft.policy, title=draft.title)
    with closing(open_store(opening.database)) as store:
        # The user's guards and goal apply there too; guards keep the place where their words came from.
        carried = [(each, None, now) for each in in_force(store, source.id)]
        events = [(handoff, stored, now), *carried, (SessionEnd(), None, now)]
        return store.create(start, time=now, events=events)
