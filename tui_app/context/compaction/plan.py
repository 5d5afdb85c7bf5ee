"""Compaction plans, made before any model is called: what is removed, the budgets, or why it cannot help."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from posixpath import normpath

from pydantic_ai.messages import ModelRequest, UserPromptPart

from tui_app.context.history import History, Sizes, Weigh, sizes_of
from tui_app.context.ledger.ledger import Ledger
from tui_app.context.ledger.tools import FileUse, operations, target_path
from tui_app.context.message_marks import is_acknowledgement, is_digest, is_note, mark_of
from tui_app.context.policy import Policy, Recent, Wording
from tui_app.context.summaries.prompt import clip
from tui_app.context.tool_results.file_calls import file_call
from tui_app.context.tool_results.results import result_text
from tui_app.context.tool_results.stage_scope import successes
from tui_app.context.views.cuts import Split, boundary_of, first_run, safe_cuts, split_at, with_room
from tui_app.context.views.view import Item, is_summary, is_system, latest_prompt_index
from tui_app.events import Trigger
from tui_app.records import frozen
from tui_app.references import WHOLE, Span
from tui_app.usage import ContextUsage, ContextWindow


def split_span(items: Sequence[Item], span: Span, recent: int, pinned: frozenset[int]) -> Split | str:
    """Divide a view so that only the messages of a span are removed, or return why that is impossible.

    An end that falls between a call and its results moves outwards, so that what the user points at is
    included. Pins, system prompts and the latest prompt stay, even if the span ends with the last message,
    because the user would not find the prompt again. Everything before the span stays where it is, including
    an earlier summary.

    Args:
        items: The agent view, oldest first.
        span: What the user selected.
        recent: Index of the first message that stays if the span has no end; a safe cut.
        pinned: Keys of messages to keep.
    """
    keys = [item.key for item in items]
    if beyond := next((each for each in (span.first, span.last) if each > max(keys, default=0)), 0):
        return f"There is no message #{beyond} in the model's view."
    # An end that is no longer in the view counts at its former place; replacements have later numbers.
    places = [(place, item.key) for place, item in enumerate(items) if _is_message(item)]
    safe = safe_cuts(items)
    start, end = 0, recent
    if span.first:
        edge = next((place for place, key in places if key >= span.first), len(items))
        edge = keys.index(span.first) if span.first in keys else edge
        start = next(place for place in range(edge, -1, -1) if safe[place])
    if span.last:
        edge = max((place for place, key in places if key <= span.last), default=-1)
        edge = keys.index(span.last) if span.last in keys else edge
        end = next(place for place in range(edge + 1, len(safe)) if safe[place])
    elif start >= recent:
        return f"Nothing to compact {span.text}: these are the newest messages, which stay as they are."
    latest = latest_prompt_index(items)
    kept = pinned if latest is None else pinned | {keys[latest]}
    split = split_at(items, max(start, end), kept, first=start)
    if sum(map(_is_message, split.old)) < 2:
        return f"Nothing to compact {span.text}: fewer than two messages there can be replaced."
    return split


def _is_message(item: Item) -> bool:
    """Whether it is a message of its own that replaces no others."""
    message = item.message
    stands_in = is_summary(message) or is_digest(message) or is_acknowledgement(message)
    return not (stands_in or is_note(message))


CHARS_PER_TOKEN = 3
"""Characters per token in budgets, which rather overestimates."""
_WIDE = re.compile(r"[\u0e00-\u0fff\u3040-\u9fff\uac00-\ud7af\uff00-\uffef]")
"""Thai, Chinese, Japanese and Korean."""
_NARROW_PER_TOKEN = 3.5
_SHORTEST = 200
"""Characters below which a clipped text is meaningless."""
_MARK = 60
"""Characters of the mark in the middle of a clipped text."""


@frozen
class Addition:
    """A text that is kept word for word, under its own heading."""

    heading: str
    text: str
    tool: str = ""
    """The tool that writes it, if any; its newest call dates the text."""

    @property
    def worded(self) -> str:
        """Its form in the replacement."""
        return f"## {self.heading}\n{self.text.strip()}"


def rough_tokens(text: str) -> int:
    """Estimate the tokens of a text for budgets; a wide character is one token."""
    wide = 0 if text.isascii() else len(_WIDE.findall(text))
    return wide + int((len(text) - wide) / _NARROW_PER_TOKEN) + 1


def tokens_of(additions: Sequence[Addition]) -> int:
    """Estimate the tokens of texts; rather too many than too few."""
    return sum(-(-len(each.worded) // CHARS_PER_TOKEN) for each in additions)


def fitted(additions: Sequence[Addition], chars: int) -> tuple[Addition, ...]:
    """Fit texts into a budget: short ones leave their room to long ones, which are clipped in the middle.

    Args:
        additions: The texts; blank ones are left out.
        chars: Maximum characters of all of them, including headings.
    """
    entries = [each for each in additions if each.text.strip()]
    kept: dict[int, Addition] = {}
    left = chars
    by_length = sorted(range(len(entries)), key=lambda place: len(entries[place].text.strip()))
    for done, place in enumerate(by_length):
        addition = entries[place]
        share = left // (len(entries) - done) - len(addition.worded) + len(addition.text.strip())
        text = addition.text.strip()
        if len(text) > share:
            if share < _SHORTEST:
                continue
            text = clip(text, share - _MARK)
        kept[place] = replace(addition, text=text)
        left -= len(kept[place].worded)
    return tuple(kept[place] for place in sorted(kept))


FORCED: frozenset[Trigger] = frozenset({"manual", "overflow", "model_switch", "headless", "memory_pressure"})
"""Triggers that do not wait for a threshold."""
BY_HAND: frozenset[Trigger] = frozenset({"manual", "headless"})
"""Triggers of compactions requested by the user."""
_LEAST_PROMPTS = 1_000
"""Tokens for the user's words in small windows too; most sessions need no more."""
_NAMES_SHARE = 0.8
"""Names' share of the budget for facts if each part has its own share."""
_OF_THE_REST = 3
"""Quarters of the window's rest above the floor that the replacement may always take."""


@frozen
class Written:
    """Approximate tokens that code will write next to a summary."""

    words: int = 0
    """Of the user."""
    deeds: int = 0


_NOTHING_WRITTEN = Written()


@frozen(kw_only=True)
class Plan:
    """What a compaction will do, with its budgets. All sizes in estimated tokens."""

    trigger: Trigger
    split: Split
    sizes: Sizes
    tokens_before: int
    messages_before: int
    old: int
    """Tokens to be removed."""
    floor: int
    """Tokens that no compaction can remove: instructions, tools, pins, latest prompt, recent messages."""
    target: int
    """Maximum size of the view afterwards."""
    summary_budget: int = 0
    prompts_budget: int = 0
    facts_budget: int = 0
    names_budget: int = 0
    """Budget for names that will be needed."""
    aim: int = 0
    """Intended size of the view afterwards."""
    most: int = 0
    """Above this the user's words and the deeds are cut too, since another compaction would start at once."""
    form: Wording
    focus: str = ""
    """What the user wants the summary to keep above all."""
    instructions: str = ""
    """Instructions for the summary besides the focus, given after planning."""
    additions: tuple[Addition, ...] = ()
    """Texts added to the replacement besides the summary and the user's words, clipped to the budget."""
    files: tuple[str, ...] = ()
    """Paths of restored files among the additions."""
    behind: tuple[Item, ...] = ()
    """Messages replaced by something unreadable in ``split.old``."""

    @property
    def leaving_keys(self) -> frozenset[int]:
        """Keys of the messages to be removed from the view."""
        return frozenset(item.key for item in self.split.old)

    @property
    def leaving(self) -> tuple[Item, ...]:
        """All messages that the summary will replace."""
        return (*self.behind, *self.split.old)

    @property
    def added(self) -> int:
        """Number of messages added to the view: the summary and its acknowledgement."""
        return 2 if self.form.acknowledgement else 1


def plan_compaction(
    items: Sequence[Item],
    usage: ContextUsage,
    weigh: Weigh,
    policy: Policy,
    *,
    trigger: Trigger,
    pinned: frozenset[int] = frozenset(),
    span: Span = WHOLE,
    written: Written = _NOTHING_WRITTEN,
) -> Plan | str:
    """Divide the view and set budgets, or return why a compaction cannot help.

    Args:
        items: The agent view.
        usage: The estimate of the next request with that view.
        weigh: Counted tokens of one item.
        policy: Triggers and sizes.
        trigger: Cause of the compaction.
        pinned: Keys of messages to keep as far as the policy has room for them.
        span: The part of the view that the user wants replaced.
        written: What code will write next to the summary, if the policy has one target for all.
    """
    if len(items) < 2:
        return "Nothing to compact yet: there are fewer than two messages."
    view = _View(items, usage, weigh, sizes_of(items, usage, weigh), trigger, pinned)
    carried, reasons = view.sizes.carried, list[str]()
    target = _target(policy, usage.window, carried)
    if target and trigger in BY_HAND:
        # A view below the target is no reason to refuse a user who asks for room.
        target = min(target, carried + max(1, (usage.total - carried) // 2))
    if target:
        policy = replace(policy, recent_tokens=_recent_room(target - carried, policy, usage.window, written))
    for split in view.splits(policy, span):
        if isinstance(split, str):
            return split
        floor, old = view.floor(split), sum(map(view.tokens, split.old))
        if reason := _hopeless(split, usage.window, floor, floor - carried):
            reasons.append(reason)
        elif span.named and old < (usage.total - carried) * policy.minimum_gain:
            sizes_said = f"{_thousands(old)} of {_thousands(usage.total - carried)}"
            reasons.append(f"Too little to gain: what would leave {span.text} is {sizes_said}.")
        else:
            plan = Plan(
                trigger=trigger,
                split=split,
                sizes=view.sizes,
                tokens_before=usage.total,
                messages_before=len(items),
                old=old,
                floor=floor,
                target=usage.window.effective,
                form=policy.form_of(by_hand=trigger == "manual"),
            )
            return _aimed(plan, policy, usage.window, target, written)
    named = ""
    if trigger in BY_HAND and not span.named:
        # Key of the last message before the latest prompt; of the last of all if there is none.
        place = latest_prompt_index(items) or len(items)
        key = next((item.key for item in reversed(items[:place]) if _is_message(item)), items[-1].key)
        split = split_span(items, Span(last=key), len(items), pinned)
        if isinstance(split, Split) and view.floor(split) < usage.window.effective:
            named = f" /compact --up-to #{key} replaces more."
    return reasons[0] + named


def irreducible_floor(
    items: Sequence[Item],
    usage: ContextUsage,
    weigh: Weigh,
    policy: Policy,
    pinned: frozenset[int] = frozenset(),
) -> int:
    """Return the tokens no compaction can remove from a view."""
    view = _View(items, usage, weigh, sizes_of(items, usage, weigh), "manual", pinned)
    carried = view.sizes.carried
    if target := _target(policy, usage.window, carried):
        room = _recent_room(target - carried, policy, usage.window, _NOTHING_WRITTEN)
        policy = replace(policy, recent_tokens=room)
    split = next(view.splits(policy, WHOLE))
    assert isinstance(split, Split)
    return view.floor(split)


@frozen
class _View:
    items: Sequence[Item]
    usage: ContextUsage
    weigh: Weigh
    sizes: Sizes
    trigger: Trigger
    pinned: frozenset[int]

    def tokens(self, item: Item) -> int:
        """Return the estimated tokens of one item."""
        return self.sizes.estimate(self.weigh(item))

    def floor(self, split: Split) -> int:
        """Return the tokens that stay: what every request carries, and the kept messages."""
        return self.sizes.carried + sum(map(self.tokens, (*split.head, *split.recent)))

    def splits(self, policy: Policy, span: Span) -> Iterator[Split | str]:
        """Yield ways to divide the view, preferred first; a span of the user allows only one.

        A policy that keeps a number of messages or a first run ignores their size: if so much stays that
        nothing is gained, the view is divided by tokens.
        """
        items, window, tokens = self.items, self.usage.window, self.tokens
        pinned = with_room(items, self.pinned, tokens, policy.pinned_budget(window))
        everything = self.trigger == "manual" and not policy.manual_keeps_recent
        recent = Recent() if everything else self._smaller(policy.recent(window), policy)
        if span.named:
            yield split_span(items, span, boundary_of(items, recent, tokens), pinned)
            return
        first = first_run(items) if policy.keep_first_run and not everything else 0
        yield split_at(items, boundary_of(items, recent, tokens), pinned, first=first)
        if recent.messages or first:
            recent = self._smaller(Recent(tokens=policy.recent_budget(window)), policy)
            yield split_at(items, boundary_of(items, recent, tokens), pinned)

    def _smaller(self, recent: Recent, policy: Policy) -> Recent:
        """Keep fewer tokens of a short conversation, or there would be nothing to compact.

        What a request carries besides its messages is never compacted, however much it is.
        """
        size = sum(self.tokens(item) for item in self.items if not is_system(item.message))
        total, mark = self.usage.total, policy.background_mark(self.usage.window)
        small = total < mark or (policy.limit is None and total == mark)
        part = 3 if self.trigger in BY_HAND or small else 2
        return replace(recent, tokens=min(recent.tokens, max(1, size // part))) if recent.tokens else recent


_RECENT_PART, _NOTES_PART = 2 / 5, 1 / 4
"""Of a target, the share of the newest messages and the maximum share of notes."""
_LEAST_NOTES = 400
"""Minimum tokens of notes if the window has room, however much must stay."""
_LEAST_RECENT = 1 / 8
"""Minimum share of the newest messages."""
_LEAST_NAMES = 0.03
"""Minimum share of the window for names, however much must stay."""
_BEYOND = 1 / 3
"""Of the window's rest, the share that words, deeds and files may take beyond the target."""
_BELOW_MARK = 0.9
"""Share of the compaction threshold that the view may have afterwards."""


def _target(policy: Policy, window: ContextWindow, carried: int) -> int:
    """Return the intended tokens of the view afterwards; 0 if each part has its own share."""
    if not policy.target_share:
        return 0
    room = max(0, window.effective - carried)
    return carried + min(policy.target_tokens or room, int(room * policy.target_share))


def _recent_room(room: int, policy: Policy, window: ContextWindow, written: Written) -> int:
    """Return the tokens for the newest messages: two fifths, less if words and deeds need more."""
    notes = min(int(window.limit * policy.summary_share), int(room * _NOTES_PART))
    left = room - written.words - written.deeds - notes
    return max(int(room * _LEAST_RECENT), min(int(room * _RECENT_PART), left), 1)


def _aimed(plan: Plan, policy: Policy, window: ContextWindow, target: int, written: Written) -> Plan:
    """Set the budgets: what the target leaves, or without target a share of the window for each part."""
    above, most = window.effective - plan.floor, max(64, plan.old * 2 // 3)
    notes = int(window.limit * policy.summary_share)
    if not target:
        # If what must stay is close to the threshold, a summary may exceed it: losing everything is worse.
        below_mark = min(window.effective, policy.background_mark(window)) - plan.floor
        share = min(max(1, below_mark, above * _OF_THE_REST // 4), most)
        words = max(int(window.limit * policy.user_share), _LEAST_PROMPTS if policy.user_share else 0)
        facts = min(int(window.limit * policy.facts_share), share // 4)
        notes, words = min(notes, share // 2 + 32), min(words, share // 4)
        return replace(
            plan,
            aim=min(plan.target, plan.floor + notes + words + facts),
            summary_budget=notes,
            prompts_budget=words,
            facts_budget=facts,
            names_budget=int(facts * _NAMES_SHARE),
        )
    # Words and deeds may exceed the target while there is room in the window.
    room = max(1, target - plan.floor)
    spare = max(room, int(above * _BEYOND))
    notes = min(notes, max(64, int(room * _NOTES_PART), min(above // 4, _LEAST_NOTES)), most // 2 + 32)
    words = min(written.words, spare - notes, most)
    deeds = min(written.deeds, max(spare - notes - words, room // 3), most)
    least = min(int(window.limit * _LEAST_NAMES), above // 8, plan.old // 8)
    return replace(
        plan,
        aim=min(plan.target, max(target, plan.floor + notes + words + deeds + least)),
        most=min(plan.target, max(int(policy.background_mark(window) * _BELOW_MARK), plan.floor + room)),
        summary_budget=notes,
        prompts_budget=max(words, 1),
        facts_budget=max(deeds, 1),
        names_budget=max(0, min(max(room - notes - words - deeds, least), most - words - deeds)),
    )


def widened(plan: Plan, tokens: Callable[[Item], int], room: int) -> Plan:
    """Keep as many more of the newest messages as fit into spare room; the same plan if none fits.

    Args:
        plan: The plan.
        tokens: Estimated tokens of one item.
        room: Spare tokens.
    """
    old, split = plan.split.old, plan.split
    safe = safe_cuts([*old, *split.recent])
    start, spent, taken = len(old), 0, 0
    for place in range(len(old) - 1, 1, -1):
        spent += tokens(old[place])
        if spent > room:
            break
        if safe[place]:
            start, taken = place, spent
    if start == len(old):
        return plan
    wider = replace(split, old=old[:start], recent=(*old[start:], *split.recent))
    return replace(plan, split=wider, floor=plan.floor + taken, old=plan.old - taken)


def _with_additions(plan: Plan, policy: Policy, window: ContextWindow, additions: Sequence[Addition]) -> Plan:
    """Add the texts that fit; their tokens are taken from the summary and the other parts."""
    budgets = plan.summary_budget, plan.prompts_budget, plan.facts_budget
    room = min(int(window.limit * policy.plan_share), sum(budgets) // 3)
    kept = fitted(additions, room * CHARS_PER_TOKEN)
    if not kept:
        return plan
    if policy.target_share:
        return replace(plan, names_budget=max(0, plan.names_budget - tokens_of(kept)), additions=kept)
    left = 1 - tokens_of(kept) / max(1, sum(budgets))
    summary, prompts, facts = (int(budget * left) for budget in budgets)
    return replace(plan, summary_budget=summary, prompts_budget=prompts, facts_budget=facts, additions=kept)


ReadsFile = Callable[[str], str | None]
"""Reads a file as a tool shows it now, in numbered lines; None if it is missing or must not be read."""
_MOST_FILES = 8
"""Maximum number of restored files."""
_NUMBERS = re.compile(r"^\d+\t", re.MULTILINE)
_CHANGED = "; it has changed since it was last seen here"


def worked_on(items: Sequence[Item]) -> dict[str, str]:
    """Return the files that calls read or wrote successfully, oldest first, each with its known text."""
    found: dict[str, str] = {}
    for _, call, result in successes(items):
        try:
            path = target_path(call.args_as_dict())
        except (ValueError, AssertionError):
            continue
        used = operations(call.tool_name, call.args_as_dict())
        verb = used[0].verb if len(used) == 1 and isinstance(used[0], FileUse) else ""
        if not path or not verb:
            continue
        written = file_call(call)
        known = result_text(result) or "" if verb == "read" and not mark_of(result) else ""
        if written is not None and not mark_of(result):
            known = written.bodies[-1].text if written.bodies else ""
        path = normpath(path)
        found.pop(path, None)
        found[path] = known
    return found


def with_files(plan: Plan, policy: Policy, window: ContextWindow, read: ReadsFile, weigh: Weigh) -> Plan:
    """Restore the files worked on last, newest first, as far as the policy has room for them whole.

    Files that kept messages still show, and those that cannot be read, are left out. They are counted instead
    of estimated by characters, because some tokenizers need three times as many tokens for a text.
    """
    budgets = plan.summary_budget + plan.prompts_budget + plan.facts_budget + tokens_of(plan.additions)
    spare = int((plan.target - max(plan.aim, plan.floor + budgets)) * _BEYOND)
    room = min(int(window.limit * policy.restore_files_share), plan.old // 4, spare)
    if room <= 0:
        return plan
    shown = worked_on((*plan.split.head, *plan.split.recent))
    lost = [each for each in reversed(worked_on(plan.split.old).items()) if each[0] not in shown]
    files: dict[str, Addition] = {}
    for path, known in lost:
        if len(files) == _MOST_FILES:
            break
        if (text := read(path)) is None:
            continue
        whole = not text.rpartition("\n")[2].startswith("[")
        changed = whole and _NUMBERS.sub("", known).strip() not in _NUMBERS.sub("", text)
        file = Addition(f"File {path}, as it is on disk{_CHANGED if changed else ''}", text)
        message = ModelRequest(parts=[UserPromptPart(file.worded)])
        if (cost := plan.sizes.estimate(weigh(Item(0, message)))) <= room:
            room -= cost
            files[path] = file
    return replace(plan, additions=(*plan.additions, *reversed(files.values())), files=tuple(files))


def _hopeless(split: Split, window: ContextWindow, floor: int, tokens: int) -> str:
    """Return why nothing can be gained; empty if something can."""
    if all(is_summary(item.message) or is_acknowledgement(item.message) for item in split.old):
        count = len(split.recent) + len(split.head)
        kept = "message" if count == 1 else f"{count} messages"
        return f"Nothing to compact: the last {kept} are kept as they are and are {_thousands(tokens)}."
    if floor >= window.effective:
        return (
            f"Compaction cannot help: what must stay is {_thousands(floor)} and the window holds "
            f"{_thousands(window.limit)} with {_thousands(window.reserve)} kept for the answer."
        )
    return ""


def _thousands(tokens: int) -> str:
    return f"{tokens} tokens" if tokens < 1000 else f"{tokens / 1000:.1f}k"


_DEED_TOKENS, _RUN_TOKENS, _SECTION_TOKENS, _MOST_READ = 16, 40, 120, 60


def written_by_code(ledger: Ledger) -> Written:
    """Estimate how much code will write: the user's words in full, and a line per deed."""
    words = sum(rough_tokens(prompt.text) + 8 for prompt in ledger.prompts())
    files = sum(trail.is_changed for trail in ledger.files().values())
    files += min(_MOST_READ, len(ledger.files()) - files)
    others = len(ledger.tasks()) + len(ledger.decisions())
    deeds = _DEED_TOKENS * files + _RUN_TOKENS * (len(ledger.runs()) + others)
    return Written(words, deeds + _SECTION_TOKENS)


def plan_of(
    history: History,
    policy: Policy,
    trigger: Trigger,
    focus: str = "",
    span: Span = WHOLE,
    additions: Sequence[Addition] = (),
    *,
    read: ReadsFile = lambda _path: None,
) -> Plan | str:
    """Plan a compaction of a history's view; see :func:`plan_compaction`. Reads the files to restore."""
    usage = history.usage()
    plan = plan_compaction(
        history.items(),
        usage,
        history.tokens,
        policy,
        trigger=trigger,
        pinned=history.pinned(),
        span=span,
        written=written_by_code(history.ledger()),
    )
    if isinstance(plan, str):
        return plan
    sealed = tuple(each for item in plan.split.old for each in history.sealed_messages(item))
    plan = _with_additions(plan, policy, usage.window, additions)
    plan = with_files(plan, policy, usage.window, read, history.tokens)
    return replace(plan, focus=focus, behind=sealed)
