"""Branches of a session: its forks, where they left it, and what was merged back."""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from tui_app.events import BranchMerged, SessionStart, ToolCall, UserMessage
from tui_app.records import frozen
from tui_app.refusals import Refusal
from tui_app.session.stores.store import SessionInfo, SessionStore
from tui_app.session.views.user_view import is_interruption

Forks = Mapping[str, Sequence[SessionInfo]]


@frozen(kw_only=True)
class BranchPrompt:
    """A prompt that only the branch has."""

    seq: int
    title: str
    time: float
    tools: int = 0
    """Number of tool calls it led to."""


@frozen(kw_only=True)
class Branch:
    """A fork of a session, as seen from that session."""

    info: SessionInfo
    at: int
    """Log number of the last event that both have."""
    prompts: tuple[BranchPrompt, ...] = ()
    """The branch's own prompts."""
    merged: int = 0
    """Log number of the newest merge that was not undone."""
    until: int = 0
    """Log number in the branch of the last event brought in by such a merge; 0 for none."""
    gained: int = 0
    """Log number in the branch of the newest merge into it that was not undone; 0 for none."""

    @property
    def name(self) -> str:
        return self.info.title or self.info.id

    @property
    def news(self) -> Sequence[BranchPrompt]:
        """Prompts that no such merge has brought in."""
        return [prompt for prompt in self.prompts if prompt.seq > self.since]

    @property
    def since(self) -> int:
        """Log number in the branch of the last event that this session has."""
        return max(self.at, self.until)

    @property
    def has_news(self) -> bool:
        return bool(self.news) or self.gained > self.since

    @property
    def state(self) -> str:
        return "open" if self.has_news or not self.merged else "merged"


def parent_of(store: SessionStore, session: str) -> str:
    """Return the id of the session this one was forked from; empty for no fork or a subagent's session."""
    record = store.record(session, 1)
    start = record.data if record is not None and isinstance(record.data, SessionStart) else None
    return start.forked_from if start is not None and not start.parent else ""


def merges_in(store: SessionStore, session: str) -> dict[int, BranchMerged]:
    """Return the merges into a session that were not undone, by log number, oldest first."""
    heads = store.agent_view(session).visible()
    records = [store.record(session, head.seq) for head in heads if head.type == BranchMerged.TYPE]
    return {each.seq: each.data for each in records if each and isinstance(each.data, BranchMerged)}


def forks_in(store: SessionStore) -> Forks:
    """Return all forks by the session they left. A fork that was only half created is ignored."""
    forks: dict[str, list[SessionInfo]] = {}
    for info in store.sessions():
        if info.events > 1 and (above := parent_of(store, info.id)):
            forks.setdefault(above, []).append(info)
    return forks


def branches_of(store: SessionStore, session: str, forks: Forks | None = None) -> list[Branch]:
    """Return the branches of a session in the order in which they left it.

    Args:
        store: The store of the sessions.
        session: Full id of the session.
        forks: The result of ``forks_in``, for callers that ask about many sessions.
    """
    merges = merges_in(store, session)
    found: list[Branch] = []
    for info in (forks_in(store) if forks is None else forks).get(session, ()):
        at = shared_until(store, session, info.id)
        newest = next(store.newest(info.id, (BranchMerged.TYPE,)), None)
        has_merged = newest is not None and newest.seq > at
        own = {seq: data for seq, data in merges.items() if data.branch == info.id}
        merged, until = max(own, default=0), max((data.until for data in own.values()), default=0)
        gained = max(merges_in(store, info.id), default=0) if has_merged else 0
        prompts = tuple(_prompts(store, info.id, at))
        found.append(Branch(info=info, at=at, prompts=prompts, merged=merged, until=until, gained=gained))
    return sorted(found, key=lambda branch: (branch.at, branch.info.created))


def shared_until(store: SessionStore, session: str, other: str) -> int:
    """Return the log number of the last event that two sessions share, their first events aside."""

    def differ(seq: int) -> bool:
        one, two = (
            {(head.type, head.time) for head in store.heads_of(each, (seq,))} for each in (session, other)
        )
        return not one or one != two

    last = min(store.info(session).events, store.info(other).events)
    return bisect_left(range(2, last + 1), True, key=differ) + 1


def _prompts(store: SessionStore, session: str, after: int) -> Iterator[BranchPrompt]:
    heads = list(store.heads(session, after))
    asked = [place for place, head in enumerate(heads) if head.type == UserMessage.TYPE]
    for place, end in pairwise([*asked, len(heads)]):
        head, tools = heads[place], sum(each.type == ToolCall.TYPE for each in heads[place:end])
        if not is_interruption(head.title):
            yield BranchPrompt(seq=head.seq, title=head.title, time=head.time, tools=tools)


def branch_named(store: SessionStore, session: str, name: str) -> Branch:
    """Find a branch by its name, id or id prefix; with an empty text, the only open branch.

    Raises:
        Refusal: if none matches, or more than one.
    """
    forks, name = forks_in(store), name.strip()
    branches = branches_of(store, session, forks)
    if not name:
        fitting = [each for each in branches if each.state == "open"]
    else:
        fitting = [each for each in branches if name.casefold() == each.name.casefold()]
        fitting = fitting or [each for each in branches if each.info.id.startswith(name)]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        named = ", ".join(f"{each.name} ({each.info.id})" for each in fitting)
        raise Refusal(f"Which branch? There are {named}.")
    if not name:
        above = parent_of(store, session)
        way = f"This is one: open {above} with /tree, and merge there." if above else "/branch begins one."
        raise Refusal(f"No branch of this session is open. {way}")
    if any(name in (data.branch, data.name) for data in merges_in(store, session).values()):
        raise Refusal(f"The branch {name} was merged, and deleted since. Nothing changed.")
    below = next((each for each in branches for deep in forks.get(each.info.id, ())
                  if name in (deep.id, deep.title)), None)  # fmt: skip
    if below is not None:
        raise Refusal(f"{name} is a branch of {below.name}: merge it there first. Nothing changed.")
    raise Refusal(f"This session has no branch {name}; it may have been deleted. Nothing changed.")
