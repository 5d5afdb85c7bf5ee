"""The result of a subagent: its last words, each line with its source, and its deeds from the log."""

from collections.abc import Sequence

from tui_app.context.binding.bind import Binder
from tui_app.context.binding.forms import with_session
from tui_app.context.compaction.sections import Count, deeds_section
from tui_app.context.ledger.ledger import Ledger
from tui_app.context.views.view import Item

_DEEDS_TOKENS = 800
_WORDS_CHARS = 16_000
_CUT = "\n[the answer was cut here]"


def agent_brief(items: Sequence[Item], report: str, *, session: str, since: int, count: Count) -> str:
    """Bind a subagent's last words to its log, and add its deeds.

    Args:
        items: All of its log except those words.
        report: Its last words.
        session: Id of its session, put before the numbers of its own messages.
        since: Log number of the first of them: earlier ones are the same in the parent session.
        count: Tokens of a text.
    """
    words = report[:_WORDS_CHARS] + (_CUT if len(report) > _WORDS_CHARS else "")
    own = Ledger.from_items([item for item in items if item.key >= since])
    bound = Binder.over(items).bind(words).text if words.strip() else ""
    deeds = deeds_section(own, _DEEDS_TOKENS, count, alive=()).text
    return with_session("\n\n".join(filter(None, (bound, deeds))), session, since - 1)
