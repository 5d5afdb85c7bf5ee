"""Content blocks of other programs as pydantic-ai content: texts, and small files as binary parts."""

import base64
import binascii
import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from tui_app.session.importers.messages import Content
from tui_app.session.importers.source import Json, shown

MAX_BINARY_CHARS = 2_000_000
"""Base64 characters of an image or document that is still taken over (about 1.5 MB of data)."""

_DATA_URL = re.compile(r"data:(?P<media>[\w.+-]+/[\w.+-]+);base64,(?P<data>.*)", re.DOTALL)
_MEDIA_TYPE = re.compile(r"(image|audio|video|application|text)/[\w.+-]{1,80}")
_TEXT_TYPES = ("text", "input_text", "output_text", "refusal")


@dataclass(frozen=True, slots=True)
class ContentReader:
    """Turns the blocks of one message into content.

    A block that cannot be taken over leaves a line of text in its place, so that neither the person nor
    the model misses that something was there.
    """

    left_out: Callable[[str], None]
    """Told why a block was replaced or dropped."""

    def read(self, content: Any) -> Content:
        """Read text or a list of blocks; text alone comes back as one string or a list of them."""
        if content is None:
            return ""
        if isinstance(content, str):
            return content
        if not isinstance(content, list):
            return json.dumps(content, ensure_ascii=False)
        items = [item for item in map(self._item, content) if item != ""]
        if len(items) == 1 and isinstance(items[0], str):
            return items[0]
        return items

    def _item(self, block: Any) -> str | Json:
        if isinstance(block, str):
            return block
        if not isinstance(block, dict):
            self.left_out(f"content block that is no object: {shown(block)}")
            return ""
        kind = block.get("type")
        if kind in _TEXT_TYPES:
            return self._text(block)
        if kind in ("image", "document"):
            return self._source(block, str(kind))
        if kind in ("image_url", "input_image"):
            return self._url(block.get("image_url"), "image")
        if kind == "input_audio":
            return self._audio(block.get("input_audio"))
        if kind == "file":
            inner = block.get("file")
            return self._url(inner.get("file_data") if isinstance(inner, dict) else None, "file")
        self.left_out(f"content block of unknown type {shown(kind)}")
        return json.dumps(block, ensure_ascii=False) if len(block) > 1 else ""

    def _text(self, block: Json) -> str:
        text = block.get("text", block.get("refusal"))
        if isinstance(text, str):
            return text
        self.left_out(f"text block without text: {shown(text)}")
        return ""

    def _source(self, block: Json, kind: str) -> str | Json:
        source = block.get("source")
        if not isinstance(source, dict):
            return self._missing(kind, "it holds no data")
        if source.get("type") == "text" and isinstance(source.get("data"), str):
            return str(source["data"])
        if source.get("type") == "url":
            return self._url(source.get("url"), kind)
        return self._binary(source.get("media_type"), source.get("data"), kind)

    def _url(self, value: Any, kind: str) -> str | Json:
        url = value.get("url") if isinstance(value, dict) else value
        if not isinstance(url, str):
            return self._missing(kind, "it holds no address")
        if match := _DATA_URL.fullmatch(url):
            return self._binary(match["media"], match["data"], kind)
        # A foreign file must not make the program, or a provider on its behalf, fetch an address.
        self.left_out(f"{kind} by address, kept as text")
        return f"[{kind}: {url}]"

    def _audio(self, value: Any) -> str | Json:
        if not isinstance(value, dict):
            return self._missing("audio", "it holds no data")
        media = {"mp3": "audio/mpeg"}.get(str(value.get("format")), f"audio/{value.get('format')}")
        return self._binary(media, value.get("data"), "audio")

    def _binary(self, media_type: Any, data: Any, kind: str) -> str | Json:
        if not isinstance(data, str) or not isinstance(media_type, str):
            return self._missing(kind, "it holds no data")
        if not _MEDIA_TYPE.fullmatch(media_type):
            return self._missing(kind, "its media type is malformed")
        if len(data) > MAX_BINARY_CHARS:
            return self._missing(kind, f"it is {len(data) * 3 // 4:,} bytes large")
        try:
            decoded = base64.b64decode(data, validate=True)
        except (binascii.Error, ValueError):
            return self._missing(kind, "its data is not base64")
        # Written anew: pydantic-ai is stricter about the last character than most who write base64.
        canonical = base64.b64encode(decoded).decode()
        return {"kind": "binary", "data": canonical, "media_type": media_type}

    def _missing(self, kind: str, reason: str) -> str:
        self.left_out(f"{kind} left out: {reason}")
        return f"[{kind}, not imported: {reason}]"


def joined(content: Content) -> Content:
    """Put texts that follow each other together: tools answer with one text, not with many."""
    if isinstance(content, str):
        return content
    if all(isinstance(item, str) for item in content):
        return "\n".join(item for item in content if isinstance(item, str))
    return content


def block_list(content: Any) -> list[Any]:
    """A message's content as blocks, whether it was written as text, as a list or not at all."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return content if isinstance(content, list) else []


def of_type(blocks: Iterable[Any], kind: str) -> list[Json]:
    """The blocks of one type."""
    return [block for block in blocks if isinstance(block, dict) and block.get("type") == kind]
