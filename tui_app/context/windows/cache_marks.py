"""Cache marks at the end of a request's stable prefix, for a prompt cache that keeps only marked prefixes.

Anthropic reads a request up to the longest prefix that an earlier one has marked, at most twenty blocks
before a mark. Tools, instructions and the newest message are marked by the library. When a stage rewrites old
results, the mark at the newest messages is lost, and everything except the instructions would be written
again. Therefore the prefix that no later rewrite changes is marked as well.
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
"""Stages whose results do not change any more, by priority."""


@dataclass(slots=True)
class CacheMarks:
    """Marks in the requests of one conversation."""

    _marked: object | None = field(default=None, init=False)
    """The part before the last mark."""

    def marked(self, request: ModelRequestContext, *, hour: bool = False) -> ModelRequestContext:
        """Return the request with a mark after its stable prefix; if that has moved, after both.

        The prefix of the older mark is read, and the one of the newer mark is cached from now on.

        Args:
            request: In the form that its model requires.
            hour: Whether all its marks ask for an hour, if this program chooses. Such a mark must not follow
                one for minutes.
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
            # Four marks are allowed: the mark after the instructions also reads what precedes them.
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
    """Whether this program chooses the lifetime of a request's marks."""
    return request.model.system == ANTHROPIC and (request.model_settings or {}).get("cache") is True


def is_cache_mark(part: object) -> bool:
    """Whether a part is only a mark, without text."""
    if not isinstance(part, UserPromptPart) or isinstance(part.content, str):
        return False
    return bool(part.content) and all(isinstance(piece, CachePoint) for piece in part.content)


def stable_end(messages: Sequence[ModelMessage]) -> int | None:
    """Return the index of the last request before everything a stage may rewrite; None if there is none.

    Trimmed or superseded results may still be archived, so they are stable only if nothing is archived.
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
