"""Adjustments learned from refusals: which form a request is tried in when a provider has refused it.

What a provider says orders the tries, by the fields, tools and ids of the request that it names; its answer
to the next try decides. What a model has taken before is suspected only where it is named.
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
"""Forms that one request is tried in, and fields among them of which nothing says that they are some."""
_REFUSED = frozenset({400, 415, 422})
"""Statuses of a request that is refused for what it is."""
_PERHAPS = frozenset({404, 405, 500, 501})
"""Those of relays that find nobody who takes it, and of servers whose template fails: where it is named."""
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
"""Fields without which there is no request, or which have a form of their own."""
_FIRST = re.compile(r"[a-z_]\w*", re.IGNORECASE)
_PATH = re.compile(r"[a-z][a-z0-9_]*(?=(\.\w+|\[\d+\])*: )")
"""At the beginning of a sentence: where in the request something is."""
_FIELD = re.compile(r"(?<![\w.-])([a-z]+(?:_[a-z0-9]+)+)(?![\w-])|[`'\"]([a-z][a-zA-Z0-9_]*)[`'\"]")
_TOOL_AT = re.compile(r"(?:tools|functions?|function_?declarations)(?:\[|\.|/)(\d+)", re.IGNORECASE)
_NUMBER = re.compile(r"(?<![\w.])\d+(?![\w.])")


_Reason = Literal["named", "new", "none"]
"""It is named, it is new in this request, or nothing speaks for it."""


@dataclass(slots=True)
class Adjustments:
    """The forms in which one model is asked, one refusal after the other."""

    first: WireForm
    """By the model's protocol alone."""
    learnt: InitVar[Mapping[str, Learned]]
    """What was learnt of the model in earlier sessions."""
    form: WireForm = field(init=False)
    """The one that the next request is sent in."""
    lasting: WireForm = field(init=False)
    """What of it a later start may rely on: what was answered after a refusal that named it."""
    _proven: WireForm = field(init=False)
    """The last one that was answered, and may be relied on."""
    _guess: WireForm | None = field(default=None, init=False)
    """One that was answered once, of which no refusal said that it would be."""
    _before: WireForm = field(init=False)
    """The one before the newest try."""
    _taken: set[str] = field(default_factory=set, init=False)
    """Rows, kinds of files and tools that requests with an answer had."""
    _tried: list[WireForm] = field(default_factory=list, init=False)
    refused: Exception | None = field(default=None, init=False)
    """The first refusal of the request: what is told where no form helps."""
    _said: str = field(default="", init=False)
    """The last refusal."""
    _failed: bool = field(default=False, init=False)
    """Whether the request before failed for a reason that may pass."""
    _names: Mapping[str, OwnNames] = field(default_factory=dict, init=False)
    """Own names of the newest request's tools, by those that were sent in their place."""
    _reasons: set[_Reason] = field(default_factory=set, init=False)
    """Of the tries of the request."""

    def __post_init__(self, learnt: Mapping[str, Learned]) -> None:
        self.form = self.lasting = self._proven = self._before = self.first.taught(learnt)

    def formed(self, request: ModelRequestContext) -> ModelRequestContext:
        """The request in the form that is tried now."""
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
        """The answer with tools and arguments by their own names, which its provider may not take."""
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
        """Forget the tries of the last request."""
        self.form = self._before = self._proven
        self._tried, self._said, self._reasons, self.refused = [], "", set(), None

    def next_form(self, request: ModelRequestContext, error: Exception) -> WireForm | None:
        """The form to try next, where one was refused; None where there is no other.

        Args:
            request: As it was sent.
            error: What came back.
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
            # Word for word the same: what was changed was not the reason.
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
        """Note that the form was taken; return what the user has to know of it, empty for nothing."""
        before, self._failed = self._proven, False
        asked = replace(_asked(request), streams=request.streaming and self.form.streams)
        self._taken |= {*asked.kinds, *asked.tools, *(row.name for row in _ROWS if row.is_in(asked))}
        if "none" in self._reasons and self.form != self._guess:
            # What was refused may have been a passing trouble: the next request is sent as before.
            self._guess = self.form
            return _change_text(before, self.form)
        self._proven = self.form
        if self._reasons <= {"named"}:
            names = (each.name for each in fields(WireForm))
            now = {name: own for name in names if (own := getattr(self.form, name)) != getattr(before, name)}
            self.lasting = replace(self.lasting, **now)
        return "" if self.form in (before, self._guess) else _change_text(before, self.form)

    def _steps(self, refusal: "_Refusal", asked: "_Asked") -> Iterator[tuple[WireForm, _Reason]]:
        """Forms to try in turn, and why what they change is suspected."""
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
        # A server may fail at what it does not know: the second time in a row it is asked without.
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
    """What of a request may have been refused."""

    kinds: frozenset[str]
    """Of its files."""
    tools: tuple[str, ...]
    ids: frozenset[str]
    """Of its calls."""
    thinks: bool
    """Whether it sends thinking back."""
    spoken: bool
    """Whether it has an answer in it."""
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
    """What a piece of a message is to a provider: a kind of file, or empty for text."""
    if isinstance(file, FileUrl):
        return type(file).__name__.removesuffix("Url").lower()
    media = file.media_type.partition("/")[0] if isinstance(file, BinaryContent) else ""
    of_pdf = isinstance(file, BinaryContent) and file.media_type.startswith("application/pdf")
    return "document" if of_pdf else media if media in ("image", "audio", "video") else ""


@frozen
class _Refusal:
    """What an error says of the request, as far as it names parts of that."""

    words: str
    fields: tuple[str, ...]
    """Fields of the body by the error's own fields, or where its sentence begins."""
    perhaps: tuple[str, ...]
    """Other names in it that look like one."""
    certain: bool
    """Whether its status says by itself that the request is refused for what it is."""

    def quotes(self, name: str) -> bool:
        return re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", self.words) is not None

    def first(self, names: Iterable[str]) -> int | None:
        """Where one of some names of the protocols comes first, in whatever way it is joined."""
        pattern = "|".join(name.replace("_", "[_ -]?") for name in names)
        found = re.search(rf"(?<![\w-])(?:{pattern})(?![\w-])", self.words, re.IGNORECASE)
        return None if found is None else found.start()


def _refusal(error: Exception, model: str) -> _Refusal | None:
    if not isinstance(error, ModelAPIError) or isinstance(error, _NOT_THE_FORM):
        return None
    # What an answer says while it is read has no status.
    status = error.status_code if isinstance(error, ModelHTTPError) else 500
    if status not in _REFUSED | _PERHAPS:
        return None
    words = own_words(error).replace(model, "")
    places = [
        [step for step in (told if isinstance(told, list) else [told]) if step not in ("body", "query")]
        for told in values_of(error, "param", "loc", "field")
    ]
    said = provider_message(error).replace(model, "")
    named = [found[0] for steps in places if steps and (found := _FIRST.match(str(steps[0] or "")))]
    named += [found[0] for found in (_PATH.match(said),) if found]
    perhaps = [one or other for one, other in _FIELD.findall(said)][:_MOST_GUESSES]
    fields, guesses = (
        tuple(dict.fromkeys(name for name in names if name not in _NEEDED)) for names in (named, perhaps)
    )
    return _Refusal(words, fields, guesses, status in _REFUSED)


@frozen(kw_only=True)
class _Row:
    """Something of a request that providers refuse."""

    name: str
    names: Sequence[str]
    """What the protocols call it."""
    has: str = ""
    """The part of a request without which it is not suspected."""
    changes: Sequence[Mapping[str, Learned]]
    """What is tried in turn."""
    unnamed: bool = False
    """Whether it is tried where nothing is named, unless the model has taken it before."""

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
"""What the protocols call each kind of file."""


def _of_tools(form: WireForm, refusal: _Refusal, asked: _Asked) -> Iterator[WireForm]:
    """Forms in which the tools that are named are others, or fewer where their number is."""
    named = set(filter(refusal.quotes, asked.tools))
    places = [int(place) for place in _TOOL_AT.findall(refusal.words)]
    # Google puts all of them into its first tool.
    named |= {asked.tools[place] for place in places[-1:] if place < len(asked.tools)}
    if named:
        yield from _without_tools(form, named)
    numbers = {int(number) for number in _NUMBER.findall(refusal.words)}
    limit = max((number for number in numbers if 0 < number < len(asked.tools)), default=0)
    if limit and (len(asked.tools) in numbers or refusal.first(("tools?", "functions?")) is not None):
        yield replace(form, most_tools=limit)


def _without_tools(form: WireForm, tools: Collection[str]) -> Iterator[WireForm]:
    """With plainer definitions of some tools, and without them."""
    yield replace(form, plain=form.plain.union(tools))
    yield replace(form, unfit=form.unfit.union(tools))


def _change_text(before: WireForm, now: WireForm) -> str:
    """What has become of requests, as far as the user would miss it."""
    said = []
    if before.tools and not now.tools:
        said.append("takes no tools, so it answers without them")
    if now.most_tools and now.most_tools != before.most_tools:
        said.append(f"takes {now.most_tools} tools at most, so the others are left out")
    if new := now.unfit - before.unfit:
        said.append(f"refuses the definition of {', '.join(sorted(new))}, left out from now on")
    if new := now.dropped - before.dropped:
        said.append(f"does not know {', '.join(sorted(new))}, left out from now on")
    if before.streams and not now.streams:
        said.append("does not stream, so its answers come in one piece")
    if gone := before.files - now.files:
        said.append(f"takes no {' or '.join(sorted(gone))} files, so it is told about them")
    return "; it ".join(said)
