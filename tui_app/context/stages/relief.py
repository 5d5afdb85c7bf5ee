"""Runs the reversible stages of one conversation: what arrives too large, and what goes before a summary."""

import logging
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from pydantic_ai.messages import ModelResponse

from tui_app.context.history import History
from tui_app.context.items import Item
from tui_app.context.policy import Policy
from tui_app.context.stages.archive import (
    archived,
    clip_digest,
    digest_input,
    heuristic_digest,
    to_archive,
)
from tui_app.context.stages.normalise import normalise
from tui_app.context.stages.offload import offload
from tui_app.context.stages.pointers import pointers
from tui_app.context.stages.rewrite import Rewrite
from tui_app.context.stages.settings import Archive
from tui_app.context.stages.spill import SpillNames
from tui_app.context.stages.trim import trim

_LOG = logging.getLogger(__name__)
WORTH_IT = 0.05
"""Share of the window that a rewrite frees at least where it does not wait for more to change."""


def _not_on_disk(_path: str) -> str | None:
    return None


def _holds_nothing(_path: str, _text: str) -> bool:
    return False


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What the stages ask of the world around the conversation."""

    checksum: Callable[[str], str | None] = _not_on_disk
    """SHA-256 of a file in the workspace as it is now; None when there is none."""
    contains: Callable[[str, str], bool] = _holds_nothing
    """Whether a file in the workspace holds a text."""
    digest: Callable[[str], Awaitable[str]] | None = None
    """Has a model write the digest of archived results; None writes it without one."""
    now: Callable[[], datetime] = _now
    handles: bool = True
    """Whether the model has a tool that brings a message back by its handle."""


@dataclass(slots=True)
class Relief:
    """Applies the stages of a policy to one view, each decision as one recorded rewrite.

    A stage whose files cannot be written, or whose model fails, changes nothing.
    """

    policy: Policy
    history: History
    count: Callable[[str], int]
    """Tokens of a text."""
    around: Surroundings
    _looked_at: int = field(default=0, init=False)
    """Key of the newest message that has been looked at on arrival."""

    def arrivals(self) -> None:
        """Cut and move away what came in too large, before any model has seen it."""
        items = self._fresh()
        if not items:
            return
        stages, names = self.policy.stages, self._names()
        if (settings := stages.offload) is not None and names is not None:
            # First: the file must hold the whole text, not the cut one.
            self._commit(offload(items, settings, self.count, names, handles=self._handles))
            items = self._fresh()
        if (limits := stages.normalise) is not None:
            if names is None:
                # Without files, what is far too long is cut instead of moved.
                limits = replace(limits, spill_chars=sys.maxsize)
            made = names or SpillNames(self.around.now())
            self._commit(normalise(items, limits, made, handles=self._handles))
        self._looked_at = max(item.key for item in self.history.items())

    def _fresh(self) -> Sequence[Item]:
        """The messages no pass has seen, with the answer whose calls the first of them may belong to."""
        items = self.history.items()
        start = len(items)
        while start and items[start - 1].key > self._looked_at:
            start -= 1
        if start == len(items):
            return ()
        while start and not isinstance(items[start].message, ModelResponse):
            start -= 1
        return items[start:]

    async def make_room(self) -> None:
        """Let every stage work whose share of the window is reached, the cheapest for the model first."""
        stages = self.policy.stages
        if (archive := stages.archive) is not None and self._reached(archive.start):
            await self._archive(archive)
        if (settings := stages.trim) is not None and self._reached(settings.start):
            self._commit_batch(trim(self.history.items(), settings), settings.batch)
        if (sizes := stages.pointers) is not None and self._reached(sizes.threshold):
            rewrite = pointers(
                self.history.items(),
                sizes,
                self._names() or SpillNames(self.around.now()),
                on_disk=self.around.checksum,
                contains=self.around.contains,
                handles=self._handles,
            )
            self._commit_batch(rewrite, sizes.batch)

    @property
    def _handles(self) -> bool:
        return self.around.handles

    def _reached(self, share: float) -> bool:
        usage = self.history.usage()
        return usage.total >= min(int(usage.window.limit * share), usage.window.effective)

    def _names(self) -> SpillNames | None:
        """Names for files; None where no file can be kept."""
        spilled = self.history.spilled()
        return None if spilled is None else SpillNames(self.around.now(), spilled)

    async def _archive(self, settings: Archive) -> None:
        if settings.strategy == "off":
            return
        items, exempt = self.history.items(), self.history.exempt("archive")
        oldest = to_archive(items, settings, batch_to=int(settings.cutoff * settings.batch))
        chosen = tuple(item for item in oldest if item.key not in exempt)
        if chosen:
            digest = await self._digest(chosen, settings, items)
            self._commit(archived(chosen, digest, handles=self._handles))

    async def _digest(self, chosen: Sequence[Item], settings: Archive, view: Sequence[Item]) -> str:
        if settings.strategy == "llm" and self.around.digest is not None:
            try:
                written = await self.around.digest(digest_input(chosen, settings, view))
            except Exception:
                # Whatever a provider raises, the digest that needs no model will do.
                _LOG.warning("a digest was not written", exc_info=True)
            else:
                if written.strip():
                    return clip_digest(written, settings)
        return heuristic_digest(chosen, settings, view)

    def _commit_batch(self, rewrite: Rewrite | None, batch: int) -> None:
        """Apply a decision that can wait, once it changes enough: each time costs what a cache has kept."""
        if rewrite is None:
            return
        exempt = self.history.exempt(rewrite.stage)
        new = {change.key: change.message for change in rewrite.changes if change.key not in exempt}
        if len(new) < batch:
            old = [item for item in self.history.items() if item.key in new]
            after = [replace(item, message=new[item.key]) for item in old]
            freed = sum(map(self._tokens, old)) - sum(map(self._tokens, after))
            if freed < self.history.usage().window.limit * WORTH_IT:
                return
        self._commit(rewrite)

    def _tokens(self, item: Item) -> int:
        return self.history.weigh(item).total

    def _commit(self, rewrite: Rewrite | None) -> None:
        """Apply a decision, less what a person has taken back; nothing where its files cannot be kept."""
        if rewrite is None or (rewrite.files and self.history.spilled() is None):
            return
        exempt = self.history.exempt(rewrite.stage)
        changes = tuple(change for change in rewrite.changes if change.key not in exempt)
        if not changes:
            return
        try:
            self.history.rewrite(replace(rewrite, changes=changes))
        except OSError:
            _LOG.warning("the stage %s could not write its files", rewrite.stage, exc_info=True)
