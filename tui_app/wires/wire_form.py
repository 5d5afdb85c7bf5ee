"""Conversion of requests to the form that a provider accepts, as the last step before sending.

Nothing stored is changed.

Providers refuse more than calls without results: ids and names with other characters, consecutive user or
system messages, unsupported kinds of files, thinking signed by another server. Equal messages always give the
same form, so that a prompt cache finds its prefix.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from hashlib import blake2b
from importlib import import_module
from math import isfinite
from typing import Any, Self, TypeVar, cast
from urllib.parse import urlsplit

from pydantic_ai.messages import (
    AudioUrl,
    BinaryContent,
    CompactionPart,
    DocumentUrl,
    FileUrl,
    ImageUrl,
    InstructionPart,
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    RetryFeedbackPart,
    RetryPromptPart,
    SystemPromptPart,
    TextContent,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UploadedFile,
    UserContent,
    UserPromptPart,
    VideoUrl,
    is_multi_modal_content,
)
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.native_tools import WebSearchTool
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition
from pydantic_core import to_json

from tui_app.providers import ANTHROPIC
from tui_app.records import frozen
from tui_app.system.pictures import sendable
from tui_app.wires.library import FRAMES, without_system_messages
from tui_app.wires.tool_schemas import OwnNames, own_keys, sent_schema
from tui_app.wires.web_searches import as_text, is_search

_Part = TypeVar("_Part")

NO_OUTPUT = "(no output)"
"""Replaces an empty result."""
NOT_RECORDED = "(not recorded)"
"""Replaces missing thinking that a server requires."""
NO_ANSWER = "(No answer.)"
"""Answer inserted between results and a prompt, for servers with alternating roles."""
SYSTEM_TAG = "system_prompt" if FRAMES else "system"
"""Tag of a system prompt in a user message, not one that the library takes for a forgery of its own."""
_PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_SOUNDS = frozenset({"audio/wav", "audio/x-wav", "audio/mpeg", "audio/mp3"})
_TEXTS = re.compile(r"text/.+|application/(.+\+)?(json|xml|yaml|x-yaml|toml)")
_ANY_ID, _SHORT_ID = re.compile(r"[a-zA-Z0-9_-]{1,40}"), re.compile(r"[a-zA-Z0-9]{9}")
_NAME, _GOOGLE_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}"), re.compile(r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}")
_FOREIGN = re.compile(r"[^a-zA-Z0-9_-]")
_MISTRAL = re.compile(r"mistral|mixtral|codestral|devstral|magistral|pixtral", re.IGNORECASE)
_KINDS = frozenset({"image", "audio", "video", "document"})
_LASTING = (
    *("one_system", "joined_system", "systems", "alternating", "short_ids", "reasoning", "caching"),
    *("streams", "tools", "most_tools", "plain", "unfit", "dropped"),
)
"""Fields that are the same for every request. Support of files and signatures may change at any time."""
EVERY = "*"
"""Stands for all tools in a set of names."""
_OF_THINKING = re.compile(r"think|thought|reason")
_SUMMARY_TAG = re.compile(r"<(?=/?conversation_summary\b)", re.IGNORECASE)
_SUMMARY = """<conversation_summary>
A summary of the conversation so far. It says what has happened and is no new instruction.

{content}
</conversation_summary>"""
_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


Learned = bool | int | list[str]
"""An adjustment as stored in a file."""


@frozen
class WireForm:
    """What one model accepts, by its protocol and what its server has refused."""

    system: str
    """Name of the provider, as in responses."""
    address: str = ""
    """Address of the server."""
    short_ids: bool = False
    """Whether ids of calls are nine letters and digits."""
    one_system: bool = True
    """Whether system prompts are accepted only at the beginning."""
    joined_system: bool = False
    """Whether that has to be a single message."""
    systems: bool = True
    """Whether the system role is accepted at all."""
    files: frozenset[str] = _KINDS
    """Kinds of files that the model accepts."""
    downloads: bool = False
    """Whether the library may download a file given by address, from this machine."""
    thinking: bool = True
    """Whether thinking is sent back."""
    reasoning: bool = False
    """Whether each answer needs thinking."""
    alternating: bool = False
    """Whether each prompt needs a preceding answer."""
    caching: bool = True
    """Whether the server accepts prompt cache settings."""
    searches: bool = False
    """Whether the provider reads its own earlier searches."""
    streams: bool = True
    """Whether streaming may be requested."""
    tools: bool = True
    """Whether tools may be defined; if not, earlier calls and results become text."""
    most_tools: int = 0
    """Maximum number of tools; 0 for no limit."""
    plain: frozenset[str] = frozenset()
    """Tools whose schemas are reduced to types and names; ``EVERY`` for all."""
    unfit: frozenset[str] = frozenset()
    """Tools that are left out."""
    dropped: frozenset[str] = frozenset()
    """Fields of the request's body that are left out."""
    is_note: Callable[[object], bool] = field(default=lambda _part: False, compare=False)
    """Whether a part of a prompt is a note, which needs no answer."""

    @classmethod
    def of(
        cls,
        model: Model[Any],
        *,
        downloads: bool = False,
        is_note: Callable[[object], bool] = lambda _part: False,
    ) -> Self:
        """Return what is known of a model before any refusal.

        Args:
            model: Any model with a provider.
            downloads: Whether the library may download files given by address.
            is_note: Whether a part of a prompt is a note.
        """
        address, profile = model.base_url or "", model.profile
        host = urlsplit(address).hostname or ""
        mistral = profile.get("tool_call_id_length") == 9 or bool(_MISTRAL.search(model.model_name))
        own_rules = host.endswith(("openai.com", "anthropic.com"))
        return cls(
            model.system,
            address,
            searches=WebSearchTool in profile.get("supported_native_tools", ())
            # Other adapters leave them out, as does OpenAI's for models without encrypted items.
            and bool(model.system == ANTHROPIC or profile.get("openai_supports_encrypted_reasoning_content")),
            short_ids=mistral,
            one_system=not own_rules,
            # With prompt caching a system prompt is sent in pieces, because a cache ends at the end of one.
            joined_system=not own_rules and not profile.get("supports_cache", False),
            files=_files(profile),
            downloads=downloads,
            is_note=is_note,
            alternating=mistral,
        )

    def learnt(self, first: Self) -> dict[str, Learned]:
        """Return the adjustments that apply to later requests.

        Args:
            first: The form before any refusal.
        """
        own = {name: getattr(self, name) for name in _LASTING if getattr(self, name) != getattr(first, name)}
        return {name: sorted(each) if isinstance(each, frozenset) else each for name, each in own.items()}

    def taught(self, learnt: Mapping[str, Learned]) -> Self:
        """Return the form with these adjustments."""
        known = {
            name: frozenset(each) if isinstance(each, list) else each
            for name, each in learnt.items()
            if name in _LASTING and isinstance(each, list) == isinstance(getattr(self, name), frozenset)
        }
        return replace(self, **cast("dict[str, Any]", known))

    def of_request(
        self, messages: Sequence[ModelMessage], parameters: ModelRequestParameters
    ) -> tuple[list[ModelMessage], ModelRequestParameters]:
        """Convert a whole request: its messages, instructions and tools."""
        formed = self.of_messages(messages)
        parts = [_encodable(each) for each in parameters.instruction_parts or ()]
        if parts:
            parameters = _with(parameters, instruction_parts=parts)
        first = formed[0] if formed else None
        begin = first.parts if isinstance(first, ModelRequest) else ()
        prompts = [part for part in begin if isinstance(part, SystemPromptPart)]
        most = 1 if self.systems else 0
        if self.joined_system and len(prompts) + len(parts) > most:
            every = [part.content for part in prompts] + [part.content for part in parts]
            text = "\n\n".join(every)
            rest: list[ModelRequestPart] = []
            rest += [part for part in begin if not isinstance(part, SystemPromptPart)]
            new_parts = [InstructionPart(text, dynamic=any(part.dynamic for part in parts))]
            if not self.systems:
                new_parts, rest = [], _joined([UserPromptPart(text), *rest])
            if isinstance(first, ModelRequest):
                formed[0] = _with(first, parts=rest)
            parameters = replace(parameters, instruction_parts=new_parts)
        return formed, self._parameters(parameters)

    def of_model(
        self, model: Model[Any], settings: ModelSettings | None
    ) -> tuple[Model[Any], ModelSettings | None]:
        """Drop cache settings and the library's system messages if the server does not accept them."""
        if not self.caching:
            kept = {name: value for name, value in (settings or {}).items() if "cache" not in name}
            settings = cast("ModelSettings", kept)
        if self.dropped:
            settings = self._without_dropped(model, settings or {})
        if not FRAMES or not self.one_system:
            return model, settings
        quiet = cast("ModelSettings", {"framing_announcement": "never", **(settings or {})})
        return without_system_messages(model), quiet

    def _without_dropped(self, model: Model[Any], settings: Mapping[str, Any]) -> ModelSettings:
        """Return settings that omit the dropped fields, some of which the library adds without a setting."""
        thinks = any(map(_OF_THINKING.search, self.dropped))
        kept = {
            name: value
            for name, value in settings.items()
            if not (thinks and _OF_THINKING.search(name)) and name.partition("_")[2] not in self.dropped
        }
        # Both SDKs leave out a field with this value.
        sdk = type(getattr(model.provider, "client", None)).__module__.partition(".")[0]
        if sdk in ("openai", "anthropic"):
            omit = import_module(sdk).omit
            kept["extra_body"] = {**(kept.get("extra_body") or {}), **dict.fromkeys(self.dropped, omit)}
        return cast("ModelSettings", kept)

    def own_names(self, parameters: ModelRequestParameters) -> dict[str, OwnNames]:
        """Return the original names of renamed tools and arguments, by the tool's sent name."""
        names = {
            self._named(tool.name): OwnNames(tool.name, own_keys(tool.parameters_json_schema))
            for tool in (*parameters.function_tools, *parameters.output_tools)
        }
        return {sent: own for sent, own in names.items() if sent != own.tool or own.arguments}

    def _parameters(self, parameters: ModelRequestParameters) -> ModelRequestParameters:
        every = [*parameters.function_tools]
        sent = [self._tool(tool) for tool in every if self._named(tool.name) not in self.unfit]
        sent = sent[: self.most_tools or None] if self.tools else []
        output = [self._tool(tool) for tool in parameters.output_tools]
        if _same(sent, every) and _same(output, parameters.output_tools):
            return parameters
        return replace(
            parameters,
            function_tools=sent,
            output_tools=output,
            revealed_tool_names=set(map(self._named, parameters.revealed_tool_names)),
            introduced_tool_names=set(map(self._named, parameters.introduced_tool_names)),
        )

    def _tool(self, tool: ToolDefinition) -> ToolDefinition:
        name = self._named(tool.name)
        schema = sent_schema(tool.parameters_json_schema, plain=not self.plain.isdisjoint((name, EVERY)))
        return _with(tool, name=name, parameters_json_schema=schema)

    def of_messages(self, messages: Sequence[ModelMessage]) -> list[ModelMessage]:
        """Convert the messages of a valid request. Unchanged messages stay the same objects."""
        ids = _Ids(_SHORT_ID if self.short_ids else _ANY_ID)
        formed: list[ModelMessage] = []
        if not self.tools:
            messages = [_without_calls(message) for message in messages]
        for message in messages:
            if isinstance(message, ModelResponse):
                formed.append(self._response(message, ids))
                continue
            mine, whole = self._parts(message.parts, ids, begins=_only_system(formed)), message
            if formed and isinstance(last := formed[-1], ModelRequest):
                # Consecutive requests are one turn of the user.
                formed.pop()
                mine, whole = [*last.parts, *mine], last
            formed += self._turn(whole, mine) if _calls(formed) else [_request(whole, mine)]
        return formed

    def _turn(self, message: ModelRequest, parts: Sequence[ModelRequestPart]) -> Sequence[ModelMessage]:
        """Build the user's turn after calls. With alternating roles, an answer follows the results."""
        prompts, files = list[ModelRequestPart](), list[UserContent]()
        results = list[ModelRequestPart]()
        for part in parts:
            if isinstance(part, UserPromptPart):
                prompts.append(part)
            elif isinstance(part, ToolReturnPart) and part.files and self.alternating:
                results.append(replace(part, content=_without_files(part.content, files)))
            else:
                results.append(part)
        notes = "\n\n".join(
            str(part.content) for part in parts if isinstance(part, UserPromptPart) and self.is_note(part)
        )
        last = results[-1] if results else None
        if self.alternating and notes and isinstance(last, ToolReturnPart) and isinstance(last.content, str):
            # A note alone does not justify an inserted answer.
            results[-1] = replace(cast("Any", last), content=f"{last.content}\n\n{notes}")
            prompts = [part for part in prompts if not self.is_note(part)]
            parts = [*results, *prompts]
        if not self.alternating or not (prompts or files):
            return [_request(message, parts)]
        shown = [UserPromptPart(files)] if files else []
        filler = ModelResponse(parts=[TextPart(NO_ANSWER)])
        return [_request(message, results), filler, replace(message, parts=_joined([*shown, *prompts]))]

    def _response(self, message: ModelResponse, ids: "_Ids") -> ModelResponse:
        ids.answer()
        url, by = message.provider_url or "", message.provider_name
        strange = bool(url and self.address) and not _same_place(url, self.address)
        # Other parts have signatures and item ids too, which are useless without the thinking.
        unsigned = strange or not self.thinking
        parts: list[ModelResponsePart] = []
        own = self.searches and not strange and by == self.system
        for each in map(_encodable, as_text(message.parts, kept=own)):
            part = _unsigned(each) if unsigned and not is_search(each) else each
            if isinstance(part, ThinkingPart):
                # In some protocols, thinking of an unknown provider would be sent as the user's text.
                if not unsigned and (by or part.provider_name) == self.system:
                    parts.append(part)
            elif isinstance(part, ToolCallPart):
                parts.append(self._call(part, ids))
            elif not isinstance(part, TextPart) or part.content.strip():
                parts.append(part)
        if self.reasoning and not any(isinstance(part, ThinkingPart) for part in parts):
            thought = ThinkingPart(NOT_RECORDED, id="reasoning_content", provider_name=self.system)
            parts.insert(0, thought)
        if not parts:
            parts.append(TextPart(NO_ANSWER))
        if unsigned and by is not None:
            return replace(message, parts=parts, provider_name=None, provider_url=None, provider_details=None)
        return _with(message, parts=parts)

    def _parts(
        self, parts: Sequence[ModelRequestPart], ids: "_Ids", *, begins: bool
    ) -> list[ModelRequestPart]:
        formed: list[ModelRequestPart] = []
        for part in map(_encodable, parts):
            begins = begins and isinstance(part, SystemPromptPart)
            if isinstance(part, SystemPromptPart) and self.one_system and not begins:
                formed.append(UserPromptPart(_as_system(part.content)))
            else:
                formed.append(self._part(part, ids))
        return formed

    def _call(self, part: ToolCallPart, ids: "_Ids") -> ToolCallPart:
        sent, name, args = ids.of_call(part.tool_call_id), self._named(part.tool_name), _object(part.args)
        return _with(part, tool_call_id=sent, tool_name=name, args=args)

    def _named(self, name: str) -> str:
        """Return a tool's name in characters that the provider accepts."""
        if (_GOOGLE_NAME if self._google else _NAME).fullmatch(name):
            return name
        letters = _FOREIGN.sub("_", name)[:53]
        return f"{letters if _GOOGLE_NAME.fullmatch(letters) else f'_{letters}'}_{_short(name)}"

    @property
    def _google(self) -> bool:
        return self.system.startswith("google")

    def _part(self, part: ModelRequestPart, ids: "_Ids") -> ModelRequestPart:
        match part:
            case CompactionPart() if part.provider_name != self.system:
                # A user message, which is joined with the next prompt.
                content = _SUMMARY_TAG.sub("&lt;", part.content or "")
                return UserPromptPart(_SUMMARY.format(content=content))
            case ToolReturnPart():
                return self._result(part, ids)
            case RetryPromptPart(tool_name=str(name), tool_call_id=call_id):
                reply = part.model_response()
                again = ToolReturnPart(name, reply, call_id, timestamp=part.timestamp, outcome="retried")
                return self._result(again, ids)
            case RetryPromptPart() | RetryFeedbackPart() if self.alternating:
                return UserPromptPart(part.model_response(), timestamp=part.timestamp)
            case UserPromptPart(content=str()):
                return part
            case UserPromptPart(content=pieces):
                taken = [
                    self._accepted_content(piece)
                    for piece in pieces
                    if not isinstance(piece, str) or piece.strip()
                ]
                return _with(part, content=taken or [NO_OUTPUT])
            case _:
                return part

    def shown(self, part: object) -> object:
        """Replace each file that the model does not accept by a note."""
        if not isinstance(part, ToolReturnPart | UserPromptPart) or isinstance(part.content, str):
            return part
        return _with(part, content=self._accepted_content(part.content))

    def _result(self, part: ToolReturnPart, ids: "_Ids") -> ToolReturnPart:
        content = self._accepted_content(part.content)
        if isinstance(content, list) and any(isinstance(each, str) and not each.strip() for each in content):
            # Each text of a list may become a separate block, and no block may be blank.
            files = any(map(is_multi_modal_content, content))
            pieces = [each for each in content if not isinstance(each, str) or each.strip()]
            content = pieces if files else to_json(content, fallback=repr).decode()
        if content is None or content == [] or (isinstance(content, str) and not content.strip()):
            content = NO_OUTPUT
        known, name = ids.of_result(part.tool_call_id), self._named(part.tool_name)
        return _with(part, content=content, tool_call_id=known, tool_name=name)

    def _accepted_content(self, content: Any) -> Any:
        """Replace each file that the model does not accept by a note."""
        match content:
            case BinaryContent():
                sent = _as_it_is(content)
                if sent is not None and self._takes(sent):
                    return sent
                size = f"{len(content.data):,} bytes"
                return f"[A file of type {content.media_type}, {size}: not shown to this model]"
            case ImageUrl() | AudioUrl() | DocumentUrl() | VideoUrl():
                kind = content.kind.removesuffix("-url")
                if self._leaves_to_provider(content, kind):
                    return content
                return f"[A file of kind {kind} at {content.url}: not shown to this model]"
            case UploadedFile():
                if content.provider_name == self.system:
                    return content
                return f"[A file uploaded to {content.provider_name}: not shown to this model]"
            case _:
                return _within(content, self._accepted_content)

    def _takes(self, file: BinaryContent) -> bool:
        kind = file.media_type.partition(";")[0].strip().lower()
        if kind.startswith("image/"):
            return "image" in self.files and kind in _PICTURES
        if kind.startswith("audio/"):
            return "audio" in self.files and (self._google or kind in _SOUNDS)
        if kind.startswith("video/"):
            return "video" in self.files
        if _TEXTS.fullmatch(kind):
            try:
                return bool(file.data.decode().strip())
            except UnicodeDecodeError:
                return False
        return kind == "application/pdf" and "document" in self.files

    def _leaves_to_provider(self, file: FileUrl, kind: str) -> bool:
        """Return whether a file is sent by address. No model or tool decides what this machine downloads."""
        if kind not in self.files or self.downloads:
            return kind in self.files
        if file.force_download:
            return False
        if self._google:
            return isinstance(file, VideoUrl) and file.is_youtube
        return kind == "image" and self.system != "bedrock"


class _Ids:
    """Ids of calls as sent: in the right alphabet, and unique."""

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self._pattern = pattern
        self._taken: set[str] = set()
        self._uses: dict[str, int] = {}
        self._sent: dict[str, str] = {}
        """Ids of the newest answer's calls, as sent."""

    def answer(self) -> None:
        self._sent = {}

    def of_call(self, call_id: str) -> str:
        use = self._uses[call_id] = self._uses.get(call_id, -1) + 1
        sent = call_id
        while sent in self._taken or not self._pattern.fullmatch(sent):
            sent = _short(f"{call_id}\0{use}")
            use += 1
        self._taken.add(sent)
        self._sent[call_id] = sent
        return sent

    def of_result(self, call_id: str) -> str:
        return self._sent.get(call_id, call_id)


def _short(text: str) -> str:
    number = int.from_bytes(blake2b(text.encode(errors="surrogatepass"), digest_size=8).digest())
    return "".join(_DIGITS[number // len(_DIGITS) ** place % len(_DIGITS)] for place in range(9))


def _unsigned(part: ModelResponsePart) -> ModelResponsePart:
    """Remove from a text or call what only its own server can read."""
    if not isinstance(part, TextPart | ToolCallPart) or not (part.id or part.provider_details):
        return part
    own: Any = part
    return cast("ModelResponsePart", replace(own, id=None, provider_name=None, provider_details=None))


def _object(args: Any) -> Any:
    """Return arguments as a JSON object with finite numbers. Anything else is wrapped in an object."""
    if args is None or (isinstance(args, str) and not args.strip()):
        return args
    try:
        value = args if isinstance(args, Mapping) else json.loads(args)
        finite = _finite(value) if isinstance(value, Mapping) else None
    except (ValueError, TypeError, RecursionError):
        finite = None
    if finite is None:
        return {"INVALID_JSON": str(args)}
    return args if finite is value else finite


def _finite(value: Any) -> Any:
    """Replace numbers that JSON cannot express by None. Returns the same object if there are none."""
    if isinstance(value, float):
        return value if isfinite(value) else None
    return _within(value, _finite)


def _within(value: Any, change: Callable[[Any], Any]) -> Any:
    """Change each value of a list or mapping. Returns the same object if nothing changes."""
    match value:
        case list() | tuple():
            pieces = list(map(change, value))
            return value if _same(pieces, value) else pieces
        case dict():
            fields = {name: change(each) for name, each in value.items()}
            return value if _same(list(fields.values()), list(value.values())) else fields
        case _:
            return value


def _encodable(part: _Part) -> _Part:
    """Make the text of a part encodable as UTF-8: file names can bring lone surrogates."""
    names = (name for name in ("content", "args") if hasattr(part, name))
    return _with(part, **{name: _encoded(getattr(part, name)) for name in names})


def _encoded(value: Any) -> Any:
    match value:
        case str():
            try:
                value.encode()
            except UnicodeEncodeError:
                return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
            return value
        case TextContent():
            return _with(value, content=_encoded(value.content))
        case dict():
            fields = {_encoded(name): _encoded(each) for name, each in value.items()}
            same = _same(list(fields), list(value)) and _same(list(fields.values()), list(value.values()))
            return value if same else fields
        case _:
            return _within(value, _encoded)


def _without_calls(message: ModelMessage) -> ModelMessage:
    """Replace the calls and results of a message by text."""
    return _with(message, parts=list(map(_as_text, message.parts)))


def _as_text(part: ModelRequestPart | ModelResponsePart) -> ModelRequestPart | ModelResponsePart:
    if isinstance(part, ToolCallPart):
        return TextPart(f"[Called {part.tool_name} with {part.args_as_json_str()}]")
    if isinstance(part, ToolReturnPart):
        text = f"[Result of {part.tool_name}]\n{part.model_response_str()}"
        return UserPromptPart([text, *part.files], timestamp=part.timestamp)
    return part


def _request(message: ModelRequest, parts: Sequence[ModelRequestPart]) -> ModelRequest:
    """Put results first in a request, and join consecutive prompts."""
    results = [part for part in parts if isinstance(part, ToolReturnPart)]
    others = [part for part in parts if not isinstance(part, ToolReturnPart)]
    return _with(message, parts=[*results, *_joined(others)])


def _joined(parts: Sequence[ModelRequestPart]) -> list[ModelRequestPart]:
    joined: list[ModelRequestPart] = []
    for part in parts:
        before = joined[-1] if joined else None
        if not isinstance(part, UserPromptPart) or not isinstance(before, UserPromptPart):
            joined.append(part)
        elif isinstance(part.content, str) and isinstance(before.content, str):
            joined[-1] = replace(before, content=f"{before.content}\n\n{part.content}")
        else:
            joined[-1] = replace(before, content=[*_pieces(before), *_pieces(part)])
    return joined


def _without_files(content: Any, found: list[UserContent]) -> Any:
    """Replace the files of a result, which are sent as a message in protocols with alternating roles."""
    if is_multi_modal_content(content):
        found.append(content)
        return f"[File {len(found)} of what follows]"
    return _within(content, lambda each: _without_files(each, found))


def _as_system(text: str) -> str:
    return f"<{SYSTEM_TAG}>\n{text}\n</{SYSTEM_TAG}>"


def _as_it_is(file: BinaryContent) -> BinaryContent | None:
    """Return a picture with its actual type, scaled to what servers accept; None if damaged."""
    picture = sendable(file.data)
    if picture is None:
        return None
    kind = file.media_type.partition(";")[0].strip().lower()
    if picture.media_type in ("", kind) and picture.data is file.data:
        return file
    return replace(file, data=picture.data, media_type=picture.media_type or file.media_type)


def _pieces(part: UserPromptPart) -> Sequence[UserContent]:
    return [part.content] if isinstance(part.content, str) else part.content


def _only_system(messages: Sequence[ModelMessage]) -> bool:
    return all(isinstance(part, SystemPromptPart) for message in messages for part in message.parts)


def _calls(messages: Sequence[ModelMessage]) -> bool:
    """Return whether the newest message calls tools."""
    return bool(messages) and any(isinstance(part, ToolCallPart) for part in messages[-1].parts)


def _with(value: _Part, **fields: Any) -> _Part:
    """Replace fields of a value. Returns the same object if nothing changes."""
    for name, each in fields.items():
        own = getattr(value, name)
        if not (each is own or (isinstance(each, list) and isinstance(own, Sequence) and _same(each, own))):
            return cast("_Part", replace(cast("Any", value), **fields))
    return value


def _same(one: Sequence[object], other: Sequence[object]) -> bool:
    return len(one) == len(other) and all(a is b for a, b in zip(one, other, strict=True))


def _files(profile: ModelProfile) -> frozenset[str]:
    """Return the kinds of files that a model and its adapter accept."""
    taken = {
        "image": profile.get("supports_image_input", True),
        "audio": profile.get("supports_audio_file_input", True),
        "video": profile.get("supports_video_input", True),
        "document": profile.get("supports_document_input", True)
        and "application/pdf" in profile.get("supported_document_media_types", ("application/pdf",)),
    }
    return frozenset(kind for kind, takes in taken.items() if takes)


def _same_place(one: str, other: str) -> bool:
    return one.rstrip("/").removesuffix("/v1") == other.rstrip("/").removesuffix("/v1")
