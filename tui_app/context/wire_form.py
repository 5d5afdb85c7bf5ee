"""The form in which a provider takes a view: the last thing done to a request, and never to what is kept.

A provider refuses more than a call without its result: ids and names of another alphabet, two messages of the
user in a row, files of a kind its protocol lacks, thinking that another server has signed. The same messages
always give the same form, so a prompt cache finds its prefix again.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any, Self, cast
from urllib.parse import urlsplit

from pydantic_ai.exceptions import ModelAPIError, ModelHTTPError
from pydantic_ai.messages import (
    BinaryContent,
    CompactionPart,
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserContent,
    UserPromptPart,
)
from pydantic_ai.models import Model, _conversation_summary_text

NO_OUTPUT = "(no output)"
"""Stands for a result without text."""
NOT_RECORDED = "(not recorded)"
"""Stands for thinking that a server wants back and that nobody has."""
NO_ANSWER = "(No answer.)"
"""Stands between results and a prompt, where a server wants roles to alternate."""
_PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_SOUNDS = frozenset({"audio/wav", "audio/x-wav", "audio/mpeg", "audio/mp3"})
_TEXTS = re.compile(r"text/.+|application/(.+\+)?(json|xml|yaml|x-yaml|toml)")
_ANY_ID, _SHORT_ID = re.compile(r"[a-zA-Z0-9_-]{1,40}"), re.compile(r"[a-zA-Z0-9]{9}")
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_FOREIGN = re.compile(r"[^a-zA-Z0-9_-]")
_MISTRAL = re.compile(r"mistral|mixtral|codestral|devstral|magistral|pixtral", re.IGNORECASE)
_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True, slots=True)
class WireForm:
    """What one model takes, by its protocol and by what its server has refused."""

    system: str
    """Name of the provider, as answers carry it."""
    address: str = ""
    """Where the server is."""
    short_ids: bool = False
    """Whether ids of calls are nine letters and digits."""
    one_system: bool = True
    """Whether a system prompt stands only in front."""
    pictures: bool = True
    thinking: bool = True
    """Whether thinking is sent back."""
    reasoning: bool = False
    """Whether each answer needs thinking."""
    alternating: bool = False
    """Whether each prompt needs an answer in front of it."""

    @classmethod
    def of(cls, model: Model[Any]) -> Self:
        """What is known of a model before it has refused anything."""
        address = model.base_url or ""
        host = urlsplit(address).hostname or ""
        return cls(
            model.system,
            address,
            short_ids=model.profile.get("tool_call_id_length") == 9
            or bool(_MISTRAL.search(model.model_name)),
            one_system=not host.endswith(("openai.com", "anthropic.com")),
            pictures=model.profile.get("supports_image_input", True),
        )

    def after(self, error: Exception) -> Self | None:
        """The form to try next, where a server has refused this one; None where that would change nothing."""
        if not isinstance(error, ModelAPIError):
            return None
        status = error.status_code if isinstance(error, ModelHTTPError) else 400
        body = error.body if isinstance(error, ModelHTTPError) else ""
        if status not in (400, 422, 500):
            return None
        said = f"{error} {body}".lower()
        learnt = self
        if re.search(r"\balternat", said):
            learnt = replace(self, alternating=True, one_system=True)
        elif re.search(r"system (message|role|prompt).*(beginning|first|start)", said):
            learnt = replace(self, one_system=True)
        elif re.search(r"reasoning_content|reasoning content", said) and re.search(
            r"back|missing|must", said
        ):
            learnt = replace(self, reasoning=True)
        elif re.search(r"signature|encrypted|thinking|redacted|reasoning", said):
            learnt = replace(self, thinking=False)
        elif re.search(r"image|picture|vision|multimodal|mmproj", said) and re.search(
            r"support|not enabled|cannot|can't|does not accept|unknown variant|no endpoints|mmproj|hint", said
        ):
            learnt = replace(self, pictures=False)
        return None if learnt == self else learnt

    def of_messages(self, messages: Sequence[ModelMessage]) -> list[ModelMessage]:
        """Bring a valid request into this form; what needs no change stays the same object."""
        ids = _Ids(_SHORT_ID if self.short_ids else _ANY_ID)
        formed: list[ModelMessage] = []
        for message in messages:
            if isinstance(message, ModelResponse):
                formed.append(self._response(message, ids))
                continue
            last = formed[-1] if formed else None
            mine = self._parts(message.parts, ids, begins=_only_system(formed))
            if isinstance(last, ModelRequest):
                # Requests in a row are one turn of the user.
                formed[-1] = _request(last, [*last.parts, *mine])
                continue
            if self.alternating and formed and _speaks(mine) and _calls(last):
                results = [part for part in mine if not isinstance(part, UserPromptPart)]
                said = [part for part in mine if isinstance(part, UserPromptPart)]
                filler = ModelResponse(parts=[TextPart(NO_ANSWER)])
                formed += [_request(message, results), filler, replace(message, parts=_joined(said))]
                continue
            formed.append(_request(message, mine))
        return formed

    def _response(self, message: ModelResponse, ids: "_Ids") -> ModelResponse:
        ids.answer()
        strange = message.provider_name is not None and (
            message.provider_name != self.system
            or (
                bool(message.provider_url and self.address)
                and not _same_place(message.provider_url or "", self.address)
            )
        )
        parts: list[ModelResponsePart] = []
        for part in message.parts:
            if isinstance(part, ThinkingPart):
                if self.thinking and not strange:
                    parts.append(part)
            elif isinstance(part, ToolCallPart):
                parts.append(_call(part, ids))
            elif not isinstance(part, TextPart) or part.content.strip():
                parts.append(part)
        if self.reasoning and not any(isinstance(part, ThinkingPart) for part in parts):
            thought = ThinkingPart(NOT_RECORDED, id="reasoning_content", provider_name=self.system)
            parts.insert(0, thought)
        if not parts:
            parts.append(TextPart(NO_ANSWER))
        return message if _same(parts, message.parts) else replace(message, parts=parts)

    def _parts(
        self, parts: Sequence[ModelRequestPart], ids: "_Ids", *, begins: bool
    ) -> list[ModelRequestPart]:
        formed: list[ModelRequestPart] = []
        for part in parts:
            begins = begins and isinstance(part, SystemPromptPart)
            if isinstance(part, SystemPromptPart) and self.one_system and not begins:
                formed.append(UserPromptPart(f"<system>\n{part.content}\n</system>"))
            else:
                formed.append(self._part(part, ids))
        return formed

    def _part(self, part: ModelRequestPart, ids: "_Ids") -> ModelRequestPart:
        match part:
            case ToolReturnPart():
                return self._result(part, ids)
            case UserPromptPart(content=str()):
                return part
            case UserPromptPart(content=pieces):
                taken = [
                    self._taken(piece) for piece in pieces if not isinstance(piece, str) or piece.strip()
                ]
                content = cast("list[UserContent]", taken or [NO_OUTPUT])
                return part if _same(content, pieces) else replace(part, content=content)
            case _:
                return part

    def _result(self, part: ToolReturnPart, ids: "_Ids") -> ToolReturnPart:
        content = self._taken(part.content)
        if content is None or content == [] or (isinstance(content, str) and not content.strip()):
            content = NO_OUTPUT
        known, name = ids.of_result(part.tool_call_id), _named(part.tool_name)
        if content is part.content and (known, name) == (part.tool_call_id, part.tool_name):
            return part
        return replace(part, content=content, tool_call_id=known, tool_name=name)

    def _taken(self, content: Any) -> Any:
        """The same content, with a note in the place of each file that the model does not take."""
        match content:
            case BinaryContent():
                if self._takes(content):
                    return content
                size = f"{len(content.data):,} bytes"
                return f"[A file of type {content.media_type}, {size}: not shown to this model]"
            case list() | tuple():
                pieces = [self._taken(piece) for piece in content]
                return content if _same(pieces, content) else pieces
            case dict():
                fields = {name: self._taken(value) for name, value in content.items()}
                return content if _same(list(fields.values()), list(content.values())) else fields
            case _:
                return content

    def _takes(self, file: BinaryContent) -> bool:
        kind = file.media_type.partition(";")[0].strip().lower()
        google = self.system.startswith("google")
        if kind.startswith("image/"):
            return self.pictures and kind in _PICTURES
        if kind.startswith("audio/"):
            return google or (kind in _SOUNDS and self.system != "anthropic")
        if kind.startswith("video/"):
            return google
        if _TEXTS.fullmatch(kind):
            try:
                return bool(file.data.decode().strip())
            except UnicodeDecodeError:
                return False
        return kind == "application/pdf"


class _Ids:
    """Ids of calls as they are sent: of the right alphabet, and none used twice."""

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self._pattern = pattern
        self._taken: set[str] = set()
        self._uses: dict[str, int] = {}
        self._sent: dict[str, str] = {}
        """Those of the newest answer."""

    def answer(self) -> None:
        self._sent = {}

    def of_call(self, wanted: str) -> str:
        use = self._uses[wanted] = self._uses.get(wanted, -1) + 1
        sent = wanted
        while sent in self._taken or not self._pattern.fullmatch(sent):
            sent = _short(f"{wanted}\0{use}")
            use += 1
        self._taken.add(sent)
        self._sent[wanted] = sent
        return sent

    def of_result(self, wanted: str) -> str:
        return self._sent.get(wanted, wanted)


def _short(text: str) -> str:
    number = int.from_bytes(blake2b(text.encode(errors="surrogatepass"), digest_size=8).digest())
    return "".join(_DIGITS[number // len(_DIGITS) ** place % len(_DIGITS)] for place in range(9))


def _named(name: str) -> str:
    """A tool's name in the letters that every provider takes."""
    if _NAME.fullmatch(name):
        return name
    return f"{_FOREIGN.sub('_', name)[:54]}_{_short(name)}"


def _call(part: ToolCallPart, ids: _Ids) -> ToolCallPart:
    sent, name, args = ids.of_call(part.tool_call_id), _named(part.tool_name), _object(part.args)
    if (sent, name) == (part.tool_call_id, part.tool_name) and args is part.args:
        return part
    return replace(part, tool_call_id=sent, tool_name=name, args=args)


def _object(args: Any) -> Any:
    """Arguments that are a JSON object; whatever else a model wrote stands in one."""
    if args is None or isinstance(args, Mapping) or (isinstance(args, str) and not args.strip()):
        return args
    try:
        valid = isinstance(json.loads(args), dict)
    except (ValueError, TypeError, RecursionError):
        valid = False
    return args if valid else {"INVALID_JSON": str(args)}


def _request(message: ModelRequest, parts: Sequence[ModelRequestPart]) -> ModelRequest:
    """The request with its results in front, and one prompt where several stood in a row."""
    results = [part for part in parts if isinstance(part, ToolReturnPart)]
    others = [part for part in parts if not isinstance(part, ToolReturnPart)]
    wanted = [*results, *_joined(others)]
    return message if _same(wanted, message.parts) else replace(message, parts=wanted)


def _joined(parts: Sequence[ModelRequestPart]) -> list[ModelRequestPart]:
    joined: list[ModelRequestPart] = []
    for part in parts:
        said = _as_said(part)
        before = _as_said(joined[-1]) if joined else None
        if said is None or before is None:
            joined.append(part)
        elif isinstance(said.content, str) and isinstance(before.content, str):
            joined[-1] = replace(before, content=f"{before.content}\n\n{said.content}")
        else:
            joined[-1] = replace(before, content=[*_pieces(before), *_pieces(said)])
    return joined


def _as_said(part: ModelRequestPart) -> UserPromptPart | None:
    """The part as words of the user; None for what is sent in another role."""
    if isinstance(part, CompactionPart):
        # Framed as pydantic-ai does it, which would make it a message of its own.
        return UserPromptPart(_conversation_summary_text(part.content))
    return part if isinstance(part, UserPromptPart) else None


def _pieces(part: UserPromptPart) -> Sequence[UserContent]:
    return [part.content] if isinstance(part.content, str) else part.content


def _only_system(messages: Sequence[ModelMessage]) -> bool:
    return all(isinstance(part, SystemPromptPart) for message in messages for part in message.parts)


def _speaks(parts: Sequence[ModelRequestPart]) -> bool:
    return any(isinstance(part, UserPromptPart) for part in parts)


def _calls(message: ModelMessage | None) -> bool:
    return message is not None and any(isinstance(part, ToolCallPart) for part in message.parts)


def _same(one: Sequence[object], other: Sequence[object]) -> bool:
    return len(one) == len(other) and all(a is b for a, b in zip(one, other, strict=True))


def _same_place(one: str, other: str) -> bool:
    return one.rstrip("/").removesuffix("/v1") == other.rstrip("/").removesuffix("/v1")
