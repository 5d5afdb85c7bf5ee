"""Running the reversible stages of a conversation: on large results as they arrive, and before a summary."""

import logging
import sys
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from pydantic_ai.messages import ModelRequest, ModelResponse

from tui_app.context.counting.prompt_cache import CacheRates
from tui_app.context.history import History, sizes_of
from tui_app.context.message_marks import mark_of
from tui_app.context.policy import Archive, Policy
from tui_app.context.tool_results.archive import (
    WRITTEN_CHARS,
    archived,
    digest_input,
    heuristic_digest,
    to_archive,
)
from tui_app.context.tool_results.cuts import shorten
from tui_app.context.tool_results.normalise import normalise
from tui_app.context.tool_results.offload import offload, offload_newest
from tui_app.context.tool_results.pointers import pointers
from tui_app.context.tool_results.results import ResultPart, results_of
from tui_app.context.tool_results.stage_scope import unread
from tui_app.context.tool_results.stale_reads import superseded
from tui_app.context.tool_results.trim import trim
from tui_app.context.tool_results.ways_back import WaysBack
from tui_app.context.views.rewrites import Digest, Rewrite
from tui_app.context.views.view import Item
from tui_app.events import Stage
from tui_app.records import frozen
from tui_app.wires.error_text import outline

_LOG = logging.getLogger(__name__)
WORTH_IT = 0.05
"""Share of the window; a rewrite that frees this much does not wait for more changes."""


@frozen(kw_only=True)
class StageHost:
    """Environment of the stages: files on disk, a model for digests, the time, sources of instructions."""

    checksum: Callable[[str], str | None] = lambda _path: None
    """SHA-256 of a file's current content in the workspace; None if there is none."""
    contains: Callable[[str, str], bool] = lambda _path, _text: False
    """Whether a file in the workspace contains a text."""
    digest: Callable[[str, int], Awaitable[Digest | None]] | None = None
    """Has a model write the digest of archived results, from that material in at most so many characters.

    Without it, and if it returns None or no text, the digest is written without a model.
    """
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    handles: bool = True
    """Whether the model has a tool that retrieves a message by its handle."""
    cache: Callable[[], CacheRates | None] = lambda: None
    """Current cost of rewriting sent messages; None if unknown."""
    sources: Callable[[str], Sequence[tuple[str, str]]] = lambda text: [("instructions", text)]
    """Splits a text of the instructions into pieces with their sources."""


@dataclass(slots=True)
class StageRunner:
    """Applies the stages of a policy to one view, each decision as one recorded rewrite.

    A stage whose files cannot be written, or whose model fails, changes nothing.
    """

    policy: Policy
    history: History
    count: Callable[[str], int]
    """Tokens of a text."""
    around: StageHost
    looked_at: int = 0
    """Key of the newest message that was processed on arrival."""

    def arrivals(self) -> None:
        """Shorten and offload oversized new results, before any model has seen them."""
        items = self._fresh()
        if not items:
            return
        stages, ways = self.policy.stages, self._ways()
        if (settings := stages.offload) is not None and ways.keeps_files:
            # First, because the file must contain the whole text, not the shortened one.
            self._commit(offload(items, settings, self.count, ways))
            items = self._fresh()
        if (limits := stages.normalise) is not None:
            # Without files, results that are far too long are shortened instead of moved.
            limits = limits if ways.keeps_files else replace(limits, spill_chars=sys.maxsize)
            self._commit(normalise(items, limits, ways))
        self.looked_at = max(self.looked_at, *(item.key for item in self._fresh()))

    def share(self) -> None:
        """Move the largest results of the newest response to files if they are too large together.

        They cannot be summarised before they have been read once. So if the request does not fit, and what
        must stay alone exceeds the compaction threshold, no compaction could help.
        """
        usage, ways, settings = self.history.usage(), self._ways(), self.policy.stages.offload
        if settings is None or not ways.keeps_files or usage.total <= usage.window.effective:
            return
        items = self.history.items()
        sizes = sizes_of(items, usage, self.history.tokens)
        floor = sizes.carried + sum(sizes.estimate(self.history.tokens(item)) for item in unread(items))
        excess = floor - self.policy.background_mark(usage.window)

        def size(part: ResultPart) -> int:
            return sizes.estimate(self.history.tokens(Item(0, ModelRequest(parts=[part]))))

        if excess > 0:
            self._commit(offload_newest(items, settings, excess, size, ways))

    def _fresh(self) -> Sequence[Item]:
        """Return the messages no pass has seen, with the response whose calls they may answer."""
        items = self.history.items()
        start = len(items)
        while start and items[start - 1].key > self.looked_at:
            start -= 1
        if start == len(items):
            return ()
        while start and not isinstance(items[start].message, ModelResponse):
            start -= 1
        return items[start:]

    async def make_room(self) -> None:
        """Run every stage whose share of the window is reached, the least costly for the model first."""
        stages = self.policy.stages
        if (outdated := stages.superseded) is not None and self._reached(outdated.start):
            self._commit_batch(superseded(self.history.items(), self._ways()), outdated.batch)
        if (archive := stages.archive) is not None and self._reached(archive.start):
            await self._archive(archive)
        if (settings := stages.trim) is not None and self._reached(settings.start):
            self._commit_batch(trim(self.history.items(), settings), self._enough("trim", settings.batch))
        if (sizes := stages.pointers) is not None and (self._reached(sizes.threshold) or self._is_due):
            rewrite = pointers(
                self.history.items(),
                self._ways(),
                on_disk=self.around.checksum,
                contains=self.around.contains,
            )
            # Before its share is reached it runs only if that avoids a compaction.
            self._commit_batch(rewrite, sizes.batch if self._reached(sizes.threshold) else None)

    @property
    def _is_due(self) -> bool:
        """Whether a compaction would start with the current view."""
        return self.policy.pressure(self.history.usage()) != "none"

    def _reached(self, share: float) -> bool:
        usage = self.history.usage()
        return usage.total >= min(int(usage.window.limit * share), usage.window.effective)

    def _ways(self) -> WaysBack:
        return WaysBack(self.around.now(), self.history.spilled(), handles=self.around.handles)

    async def _archive(self, settings: Archive) -> None:
        if settings.strategy == "off":
            return
        items, exempt = self.history.items(), self.history.exempt("archive")
        chosen = tuple(item for item in to_archive(items, settings) if item.key not in exempt)
        # A model may write the digest, so it is not called before there is enough.
        batch = self._enough("archive", settings.batch)
        if chosen and self._pays([item.key for item in chosen], sum(map(self.history.tokens, chosen)), batch):
            written = Digest()
            if settings.strategy == "llm" and self.around.digest is not None:
                try:
                    material = digest_input(chosen, items)
                    written = await self.around.digest(material, WRITTEN_CHARS) or written
                except Exception as error:
                    # Whatever fails there, a digest without a model is enough.
                    _LOG.warning("a digest was not written: %s", outline(error))
                    _LOG.debug("a digest was not written", exc_info=error)
            if written.text.strip():
                written = replace(written, text=shorten(written.text.strip(), WRITTEN_CHARS))
            else:
                text = heuristic_digest(chosen, items)
                written = replace(written, text=text, performed_by="heuristic")
            rewrite = archived(chosen, written.text, handles=self.around.handles)
            self._commit(replace(rewrite, written=written))

    def _enough(self, stage: Stage, batch: int) -> int:
        """Return how many changes are enough: one as long as the stage has changed nothing in the view."""
        parts = (part for item in self.history.items() for _, part in results_of(item))
        return batch if any(stage in mark_of(part).get("stages", ()) for part in parts) else 1

    def _commit_batch(self, rewrite: Rewrite | None, batch: int | None) -> None:
        """Apply a decision that can wait, once it pays."""
        if rewrite is not None and (allowed := self._allowed(rewrite)).changes:
            keys = [change.key for change in allowed.changes]
            if self._pays(keys, self._freed(allowed), batch):
                self._commit(allowed)

    def _pays(self, changed: Collection[int], freed: int, batch: int | None) -> bool:
        """Whether a decision changes enough, since each one costs what a cache has kept.

        It does not wait if it avoids a compaction, which costs more and loses information. Without pressure
        and with a known cache, it has to save more than it costs: the conversation is expected to make as
        many further requests as the view has responses.

        Args:
            changed: Keys of the messages that it changes, at least one.
            freed: Tokens that they lose.
            batch: How many changes are enough; None accepts it only if it avoids a compaction.
        """
        usage, shares = self.history.usage(), self.policy.limit is None
        if batch is not None and not self._is_due and (rates := self.around.cache()) is not None:
            items = self.history.items()
            uncached = sum(self.history.tokens(item) for item in items if item.key >= min(changed)) - freed
            answers = sum(isinstance(item.message, ModelResponse) for item in items)
            return rates.pays(freed, uncached, answers)
        if batch is not None and len(changed) >= batch:
            return True
        spares = shares and self._is_due and usage.total - freed < self.policy.background_mark(usage.window)
        return spares or (batch is not None and freed >= usage.window.limit * WORTH_IT)

    def _allowed(self, rewrite: Rewrite) -> Rewrite:
        """Return a decision without what the user has undone."""
        exempt = self.history.exempt(rewrite.stage)
        changes = tuple(change for change in rewrite.changes if change.key not in exempt)
        return replace(rewrite, changes=changes)

    def _freed(self, rewrite: Rewrite) -> int:
        """Return the tokens that a decision frees; a digest may be larger than what it replaces."""
        new = {change.key: change.message for change in rewrite.changes}
        old = [item for item in self.history.items() if item.key in new]
        after = [replace(item, message=new[item.key]) for item in old]
        digest = self.history.tokens(Item(0, rewrite.digest)) if rewrite.digest is not None else 0
        return sum(map(self.history.tokens, old)) - sum(map(self.history.tokens, after)) - digest

    def _commit(self, rewrite: Rewrite | None) -> None:
        """Apply a decision except for what the user has undone, if it frees tokens and files can be kept."""
        if rewrite is None or (rewrite.files and self.history.spilled() is None):
            return
        rewrite = self._allowed(rewrite)
        if not rewrite.changes or self._freed(rewrite) <= 0:
            return
        try:
            self.history.rewrite(replace(rewrite, policy=self.policy.name))
        except OSError as error:
            _LOG.warning("the stage %s could not write its files: %s", rewrite.stage, error)
