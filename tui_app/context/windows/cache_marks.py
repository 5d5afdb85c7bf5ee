"""Marks where the lasting beginning of a request ends, for a prompt cache that keeps only what is marked.

Anthropic reads a request up to the longest beginning that an earlier one has marked, at most twenty blocks in
front of a mark. Tools, instructions and the newest message are marked by the library. When a stage rewrites
old results, those of the newest messages are of no use any more, and all but the instructions would be
written anew: so what no later rewrite touches is marked as well.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import Any, Literal, cast

from pydantic_ai.messages import CachePoint, ModelMessage, ModelRequest, ToolReturnPart, UserPromptPart
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.settings import ModelSettings

from tui_app.context.message_marks import is_digest_part, is_shell_part, mark_of
from tui_app.context.views.view import is_summary
from tui_app.providers import ANTHROPIC

_LASTING = frozenset({"archive", "pointers"}), frozenset({"trim", "superseded"})
"""Stages behind which results are as they stay, by what else is done."""


@dataclass(slots=True)
class CacheMarks:
    """Marks the requests of one conversation, one after the other."""

    _marked: object | None = field(default=None, init=False)
    """The part that the last mark stands behind."""

    def marked(self, request: ModelRequestContext, *, hour: bool = False) -> ModelRequestContext:
        """The request with a mark behind its lasting beginning; where that has moved, behind both.

        What the older mark has kept is read, and what stands behind the newer one is kept from now on.

        Args:
            request: In the form that its model takes.
            hour: Whether all its marks ask for an hour, where that is left to us. None of those may stand
                behind one for minutes.
        """
        settings: dict[str, Any] = {**(request.model_settings or {})}
        asked = settings.get("cache")
        if not asked or request.model.system != ANTHROPIC:
            return request
        if hour and chooses_hour(request):
            settings["cache"] = asked = "1h"
            request = replace(request, model_settings=cast("ModelSettings", settings))
        messages = request.messages
        lasting = stable_end(messages)
        before = (
            place for place, each in enumerate(messages) if each.parts and each.parts[-1] is self._marked
        )
        places = {*before} | ({lasting} if lasting is not None else set())
        self._marked = None if lasting is None else messages[lasting].parts[-1]
        places.discard(len(messages) - 1)
        if not places:
            return request
        lifetime: Literal["5m", "1h"] = "1h" if asked == "1h" else "5m"
        if len(places) > 1:
            # There may be four: the mark behind the instructions reads what stands in front of them, too.
            by_itself = request.model.profile.get("supports_auto_cache")
            newest = "anthropic_cache" if by_itself else "anthropic_cache_messages"
            settings |= {"anthropic_cache_instructions": lifetime, newest: lifetime}
        point = UserPromptPart([CachePoint(ttl=lifetime)])
        return replace(
            request,
            messages=[
                replace(each, parts=[*each.parts, point])
                if place in places and isinstance(each, ModelRequest)
                else each
                for place, each in enumerate(messages)
            ],
            model_settings=cast("ModelSettings", settings),
        )


def chooses_hour(request: ModelRequestContext) -> bool:
    """Whether it is left to us how long the marks of a request ask for."""
    return request.model.system == ANTHROPIC and (request.model_settings or {}).get("cache") is True


def is_cache_mark(part: object) -> bool:
    """Whether a part is a mark and nothing that is said."""
    if not isinstance(part, UserPromptPart) or isinstance(part.content, str):
        return False
    return bool(part.content) and all(isinstance(piece, CachePoint) for piece in part.content)


def stable_end(messages: Sequence[ModelMessage]) -> int | None:
    """Place of the last request in front of all that a stage may rewrite; None where there is none.

    What was trimmed or left out may still be archived, so it lasts only where nothing is.
    """
    rewritten: list[int] = []
    for stages in _LASTING:
        rewritten = rewritten or [at for at, each in enumerate(messages) if _is_rewritten(each, stages)]
    lasts = takewhile(
        lambda at: at <= max(rewritten, default=-1) or not any(map(_is_result, messages[at].parts)),
        range(len(messages)),
    )
    return max((at for at in lasts if isinstance(messages[at], ModelRequest)), default=None)


def _is_rewritten(message: ModelMessage, stages: frozenset[str]) -> bool:
    return is_summary(message) or any(
        stages & {*mark_of(part).get("stages", ())} or is_digest_part(part) for part in message.parts
    )


def _is_result(part: object) -> bool:
    return isinstance(part, ToolReturnPart) or is_shell_part(part)
