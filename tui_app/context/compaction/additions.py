"""Texts from outside a conversation that outlive its compactions word for word, such as a todo list.

They are read anew for each compaction and put into the replacement by code. No summary holds them, so the
next compaction finds nothing of them to carry along.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from tui_app.context.summaries.render import clip

CHARS_PER_TOKEN = 3
"""Characters that are taken for a token in budgets, which rather over- than undercounts."""
_SHORTEST = 200
"""Characters below which a clipped text says nothing."""
_MARK = 60
"""Characters of the mark in the middle of a clipped text."""


@dataclass(frozen=True, slots=True)
class Addition:
    """One text under a heading of its own."""

    heading: str
    text: str

    @property
    def worded(self) -> str:
        """As it stands in the replacement."""
        return f"## {self.heading}\n{self.text.strip()}"


Additions = Callable[[], Sequence[Addition]]
"""Reads the texts as they are now, in the order in which they shall stand."""


def tokens_of(additions: Sequence[Addition]) -> int:
    """About how many tokens texts take; rather more than fewer."""
    return sum(-(-len(each.worded) // CHARS_PER_TOKEN) for each in additions)


def no_additions() -> Sequence[Addition]:
    """For conversations without any."""
    return ()


def fitted(additions: Sequence[Addition], chars: int) -> tuple[Addition, ...]:
    """What has room: short texts leave theirs to long ones, which are clipped in the middle.

    Args:
        additions: The texts; blank ones are left out.
        chars: Characters that all of them may take, headings included.
    """
    said = [each for each in additions if each.text.strip()]
    kept: dict[int, Addition] = {}
    left = chars
    by_length = sorted(range(len(said)), key=lambda place: len(said[place].text.strip()))
    for done, place in enumerate(by_length):
        addition = said[place]
        share = left // (len(said) - done) - len(addition.worded) + len(addition.text.strip())
        text = addition.text.strip()
        if len(text) > share:
            if share < _SHORTEST:
                continue
            text = clip(text, share - _MARK)
        kept[place] = replace(addition, text=text)
        left -= len(kept[place].worded)
    return tuple(kept[place] for place in sorted(kept))
