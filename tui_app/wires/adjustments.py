"""Adjustments of the request's form learned from refusals.

The fields, tools and ids named in a refusal determine the order of attempts; the response to the next attempt
decides. What a model has accepted before is suspected only if it is named.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import InitVar, dataclass, field, fields, replace
from itertools import chain
from typing import Any, Literal, cast

from pydantic_ai.exceptions import (
    ModelAPIError,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelHTTPError,
    ModelQuotaExceededError,
    ModelRateLimitError,
    ModelTimeoutError,
)
from pydantic_ai.messages import (
    BinaryContent,
    FileUrl,
    ModelResponse,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestContext

from tui_app.files import toml_beside
from tui_app.records import frozen
from tui_app.wires.error_text import own_words, provider_message, values_of
from tui_app.wires.served_model import ServedModel, unserved
from tui_app.wires.tool_schemas import OwnNames
from tui_app.wires.wire_form import Learned, WireForm

_MOST_TRIES, _MOST_GUESSES = 8, 2
"""Maximum forms tried for one request, and maximum names of a refusal that are guessed to be fields."""
_REFUSED = frozenset({400, 415, 422})
"""Statuses of a request that is refused because of its content."""
_PERHAPS = frozenset({404, 405, 500, 501})
"""Statuses of relays without a matching server and of failing templates: only what is named is suspected."""
_NOT_THE_FORM = (
    ModelAuthenticationError,
    ModelConnectionError,
    ModelTimeoutError,
    ModelQuotaExceededError,
    ModelRateLimitError,
)
_NEEDED = frozenset(
    {"model", "messages", "input", "contents", "content", "role", "system", "instructions", "tools", "stream"}
)
"""Fields that every request needs, or that have a form of their own."""
_FIRST = re.compile(r"[a-z_]\w*", re.IGNORECASE)
_PATH = re.compile(r"[a-z][a-z0-9_]*(?=(\.\w+|\[\d+\])*: )")
"""Path into the request at the beginning of a sentence."""
_FIELD = re.compile(r"(?<![\w.-])([a-z]+(?:_[a-z0-9]+)+)(?![\w-])|[`'\"]([a-z][a-zA-Z0-9_]*)[`'\"]")
_TOOL_AT = re.compile(r"(?:tools|functions?|function_?declarations)(?:\[|\.|/)(\d+)", re.IGNORECASE)
_NUMBER = re.compile(r"(?<![\w.])\d+(?![\w.])")


_Reason = Literal["named", "new", "none"]
"""Why a change is tried: it is named, it is new in this request, or there is no sign."""


@dataclass(slots=True)
class Adjustments:
    """The forms of one model's requests, changed after each refusal."""

    first: WireForm
    """The form by the model's protocol alone."""
    learnt: InitVar[Mapping[str, Learned]]
    """Adjustments learned in earlier sessions."""
    form: WireForm = field(init=False)
    """The form of the next request."""
    lasting: WireForm = field(init=False)
    """The form that later sessions can rely on: accepted after a refusal that named the reason."""
    _proven: WireForm = field(init=False)
    """The last accepted form that can be relied on."""
    _guess: WireForm | None = field(default=None, init=False)
    """A form accepted once although no refusal pointed to it."""
    _before: WireForm = field(init=False)
    """The form before the newest attempt."""
    _taken: set[str] = field(default_factory=set, init=False)
    """Rows, kinds of files and tools of accepted requests."""
    _tried: list[WireForm] = field(default_factory=list, init=False)
    refused: Exception | None = field(default=None, init=False)
    """The first refusal of the request, raised if no form helps."""
    _said: str = field(default="", init=False)
    """Text of the last refusal."""
    _failed: bool = field(default=False, init=False)
    """Whether the previous request failed for a reason that may be temporary."""
    _names: Mapping[str, OwnNames] = field(default_factory=dict, init=False)
    """Original names of the newest request's tools, by the names that were sent."""
    _reasons: set[_Reason] = field(default_factory=set, init=False)
    """Reasons of the request's attempts."""

    def __post_init__(self, learnt: Mapping[str, Learned]) -> None:
        self.form = self.lasting = self._proven = self._before = self.first.taught(learnt)

    def formed(self, request: ModelRequestContext) -> ModelRequestContext:
        """Return the request in the form to try now."""
        form, parameters = self.form, request.model_request_parameters
        self._names = form.own_names(parameters)
        messages, parameters = form.of_request(request.messages, parameters)
        model, settings = form.of_model(unserved(request.model), request.model_settings)
        return replace(
            request,
            model=ServedModel(model, streams=form.streams),
            model_settings=settings,
            messages=messages,
            model_request_parameters=parameters,
        )

    def own_names(self, response: ModelResponse) -> ModelResponse:
        """Return the response with the original names of tools and arguments."""
        if not self._names:
            return response
        own = self._names
        parts = [
            own[part.tool_name].call(part)
            if isinstance(part, ToolCallPart) and part.tool_name in own
            else part
            for part in response.parts
        ]
        return replace(response, parts=parts)

    def begin(self) -> None:
        """Start a new request: forget the attempts of the last one."""
        self.form = self._before = self._proven
        self._tried, self._said, self._reasons, self.refused = [], "", set(), None

    def next_form(self, request: ModelRequestContext, error: Exception) -> WireForm | None:
        """Return the form to try next after a refusal; None if there is no other.

        Args:
            request: The request as sent.
            error: The error.
        """
        refusal = _refusal(error, request.model.model_name)
        if refusal is None:
            self.refused = None
            return None
        self.refused = self.refused or error
        if len(self._tried) >= _MOST_TRIES:
            return None
        self._tried = self._tried or [self.form]
        if refusal.words == self._said:
            # The same text again: the change was not the reason.
            self.form = self._before
        self._said = refusal.words
        asked = _asked(request)
        untried = (step for step in self._steps(refusal, asked) if step[0] not in self._tried)
        form, reason = next(untried, (None, None))
        self._failed = not refusal.certain
        if form is not None and reason is not None:
            self._tried.append(form)
            self._before, self.form = self.form, form
            self._reasons.add(reason)
        return form

    def answered(self, request: ModelRequestContext) -> str:
        """Record that the form was accepted; return a note for the user, or an empty text."""
        before, self._failed = self._proven, False
        asked = replace(_asked(request), streams=request.streaming and self.form.streams)
        self._taken |= {*asked.kinds, *asked.tools, *(row.name for row in _ROWS if row.is_in(asked))}
        if "none" in self._reasons and self.form != self._guess:
            # The refusal may have been temporary: send the next request as before.
            self._guess = self.form
            return _change_text(before, self.form)
        self._proven = self.form
        if self._reasons <= {"named"}:
            names = (each.name for each in fields(WireForm))
            now = {name: own for name in names if (own := getattr(self.form, name)) != getattr(before, name)}
            self.lasting = replace(self.lasting, **now)
        return "" if self.form in (before, self._guess) else _change_text(before, self.form)

    def _steps(self, refusal: "_Refusal", asked: "_Asked") -> Iterator[tuple[WireForm, _Reason]]:
        """Yield the forms to try in order, each with the reason for its change."""
        form = self.form
        kinds = {kind: place for kind in asked.kinds if (place := refusal.first(_FILES[kind])) is not None}
        named = [
            replace(form, files=form.files - {kind}) for kind in sorted(kinds, key=lambda kind: kinds[kind])
        ]
        named += _of_tools(form, refusal, asked)
        named += (replace(form, dropped=form.dropped | {name}) for name in refusal.fields)
        for row in _ROWS:
            quoted = row.name == "ids" and any(map(refusal.quotes, asked.ids))
            if row.is_in(asked) and (quoted or refusal.first(row.names) is not None):
                named += row.tries(form)
        named += (replace(form, dropped=form.dropped | {name}) for name in refusal.perhaps)
        yield from ((each, "named") for each in named)
        # A server may crash at unknown content: after the second failure in a row, send the request without
        # it.
        if not (refusal.certain or self._failed):
            return
        if self._guess is not None:
            yield self._guess, "none"
        if new := asked.kinds - self._taken:
            yield replace(form, files=form.files - new), "new" if refusal.certain else "none"
        if not refusal.certain:
            return
        if self._taken and (tools := frozenset(asked.tools) - self._taken):
            yield from ((each, "new") for each in _without_tools(form, tools))
        for row in _ROWS:
            if row.unnamed and row.is_in(asked) and row.name not in self._taken | asked.shown:
                yield from ((each, "none") for each in row.tries(form))


@frozen
class _Asked:
    """Parts of a request that may have been refused."""

    kinds: frozenset[str]
    """Kinds of its files."""
    tools: tuple[str, ...]
    ids: frozenset[str]
    """Ids of its calls."""
    thinks: bool
    """Whether it contains thinking."""
    spoken: bool
    """Whether it contains a response."""
    shown: frozenset[str]
    """Rows that the model has taken, by its own answers in it."""
    streams: bool
    caches: bool


def _asked(request: ModelRequestContext) -> _Asked:
    parts = [part for message in request.messages for part in message.parts]
    shown = request.model_request_parameters.function_tools
    answers = [message for message in request.messages if isinstance(message, ModelResponse)]
    own = (each for each in answers if (each.model_name or "").startswith(request.model.model_name))
    return _Asked(
        kinds=frozenset(filter(None, map(_kind, chain.from_iterable(map(_files, parts))))),
        tools=tuple(tool.name for tool in shown if not tool.defer_loading),
        ids=frozenset(part.tool_call_id for part in parts if isinstance(part, ToolCallPart)),
        thinks=any(isinstance(each, ThinkingPart) or getattr(each, "provider_details", 0) for each in parts),
        spoken=bool(answers),
        shown=frozenset(("schemas", "tools") if any(each.tool_calls for each in own) else ()),
        streams=request.streaming,
        caches=any("cache" in name and on for name, on in (request.model_settings or {}).items()),
    )


def _files(part: object) -> Sequence[object]:
    if isinstance(part, ToolReturnPart):
        return part.files
    content = part.content if isinstance(part, UserPromptPart) else ""
    return () if isinstance(content, str) else content


def _kind(file: object) -> str:
    """Return the kind of file for a provider; empty for text."""
    if isinstance(file, FileUrl):
        return type(file).__name__.removesuffix("Url").lower()
    media = file.media_type.partition("/")[0] if isinstance(file, BinaryContent) else ""
    of_pdf = isinstance(file, BinaryContent) and file.media_type.startswith("application/pdf")
    return "document" if of_pdf else media if media in ("image", "audio", "video") else ""


@frozen
class _Refusal:
    """Parts of the request that an error names."""

    words: str
    fields: tuple[str, ...]
    """Fields of the body named in the error's own fields, or at the beginning of its sentence."""
    perhaps: tuple[str, ...]
    """Other names in it that look like fields."""
    certain: bool
    """Whether its status alone shows that the content was refused."""

    def quotes(self, name: str) -> bool:
        return re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", self.words) is not None

    def first(self, names: Iterable[str]) -> int | None:
        """Return the position of the first of the names, with any separator between its words."""
        pattern = "|".join(name.replace("_", "[_ -]?") for name in names)
        found = re.search(rf"(?<![\w-])(?:{pattern})(?![\w-])", self.words, re.IGNORECASE)
        return None if found is None else found.start()


def _refusal(error: Exception, model: str) -> _Refusal | None:
    if not isinstance(error, ModelAPIError) or isinstance(error, _NOT_THE_FORM):
        return None
    # An error within a stream has no status.
    status = error.status_code if isinstance(error, ModelHTTPError) else 500
    if status not in _REFUSED | _PERHAPS:
        return None
    words = own_words(error).replace(model, "")
    places = [
        [step for step in (value if isinstance(value, list) else [value]) if step not in ("body", "query")]
        for value in values_of(error, "param", "loc", "field")
    ]
    message = provider_message(error).replace(model, "")
    named = [found[0] for steps in places if steps and (found := _FIRST.match(str(steps[0] or "")))]
    named += [found[0] for found in (_PATH.match(message),) if found]
    perhaps = [one or other for one, other in _FIELD.findall(message)][:_MOST_GUESSES]
    fields, guesses = (
        tuple(dict.fromkeys(name for name in names if name not in _NEEDED)) for names in (named, perhaps)
    )
    return _Refusal(words, fields, guesses, status in _REFUSED)


@frozen(kw_only=True)
class _Row:
    """A part of requests that providers refuse."""

    name: str
    names: Sequence[str]
    """Its names in the protocols."""
    has: str = ""
    """Attribute of ``_Asked`` without which it is not suspected; empty for none."""
    changes: Sequence[Mapping[str, Learned]]
    """Changes to try in order."""
    unnamed: bool = False
    """Whether to try it without being named, unless the model has accepted it before."""

    def is_in(self, asked: _Asked) -> bool:
        return bool(getattr(asked, self.has, True))

    def tries(self, form: WireForm) -> Iterator[WireForm]:
        for change in self.changes:
            fields = {
                name: frozenset(each) if isinstance(each, list) else each for name, each in change.items()
            }
            yield replace(form, **cast("dict[str, Any]", fields))


_TABLE: Mapping[str, Any] = toml_beside(__file__, "refusals")
_ROWS = tuple(_Row(name=name, **row) for name, row in _TABLE["rows"].items())
_FILES: Mapping[str, Sequence[str]] = _TABLE["files"]
"""Names of each kind of file in the protocols."""


def _of_tools(form: WireForm, refusal: _Refusal, asked: _Asked) -> Iterator[WireForm]:
    """Yield the forms with simpler or fewer tools if tools are named, or with a limit if their number is."""
    named = set(filter(refusal.quotes, asked.tools))
    places = [int(place) for place in _TOOL_AT.findall(refusal.words)]
    # Google puts all tools into the first one.
    named |= {asked.tools[place] for place in places[-1:] if place < len(asked.tools)}
    if named:
        yield from _without_tools(form, named)
    numbers = {int(number) for number in _NUMBER.findall(refusal.words)}
    limit = max((number for number in numbers if 0 < number < len(asked.tools)), default=0)
    if limit and (len(asked.tools) in numbers or refusal.first(("tools?", "functions?")) is not None):
        yield replace(form, most_tools=limit)


def _without_tools(form: WireForm, tools: Collection[str]) -> Iterator[WireForm]:
    """Yield the forms with simpler definitions of some tools, and without these tools."""
    yield replace(form, plain=form.plain.union(tools))
    yield replace(form, unfit=form.unfit.union(tools))


def _change_text(before: WireForm, now: WireForm) -> str:
    """Describe what changed in requests, as far as the user needs to know."""
    changes = []
    if before.tools and not now.tools:
        changes.append("takes no tools, so it answers without them")
    if now.most_tools and now.most_tools != before.most_tools:
        changes.append(f"takes {now.most_tools} tools at most, so the others are left out")
    if new := now.unfit - before.unfit:
        changes.append(f"refuses the definition of {', '.join(sorted(new))}, left out from now on")
    if new := now.dropped - before.dropped:
        changes.append(f"does not know {', '.join(sorted(new))}, left out from now on")
    if before.streams and not now.streams:
        changes.append("does not stream, so its answers come in one piece")
    if kinds := before.files - now.files:
        changes.append(f"takes no {' or '.join(sorted(kinds))} files, so it is told about them")
    return "; it ".join(changes)
