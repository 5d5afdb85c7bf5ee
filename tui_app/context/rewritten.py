"""A view after a stage's decision has been applied to it."""

from collections.abc import Sequence
from dataclasses import replace

from tui_app.context.compaction.segments import safe_cuts
from tui_app.context.items import Item
from tui_app.context.stages.rewrite import Rewrite


def rewritten_items(items: Sequence[Item], rewrite: Rewrite, digest_key: int) -> list[Item]:
    """The view with new forms in it; a digest stands at the first place where a cut is safe.

    What answers reported is forgotten: they read another view.
    """
    new = {change.key: change.message for change in rewrite.changes}
    wholes = {id(item.whole) for item in items if item.key in new and item.whole is not None}
    done = [
        # Sections of a message that is no longer whole go their own ways.
        replace(item, message=new.get(item.key, item.message), whole=None, reported=0)
        if item.key in new or id(item.whole) in wholes
        else replace(item, reported=0)
        for item in items
    ]
    if rewrite.digest is None:
        return done
    last = max(place for place, item in enumerate(done) if item.key in new)
    safe = safe_cuts(done)
    place = next(place for place in range(last + 1, len(safe)) if safe[place])
    return [*done[:place], Item(digest_key, rewrite.digest), *done[place:]]
