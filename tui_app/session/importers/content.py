"""Conversion of other programs' content blocks to pydantic-ai content: texts and small binary parts."""

import base64
import binascii
import json
import re
from collections.abc import Callable
from typing import Any

from tui_app.records import frozen
from tui_app.session.importers.books import Content
from tui_app.session.importers.source import Json, shown
from tui_app.session.importers.values import list_at, text_at, value_at

MAX_BINARY_CHARS = 2_000_000
"""Maximum base64 characters of an imported image or document (about 1.5 MB of data)."""
BESIDE = "beside"
"""Type of a block that the model read with a prompt and the user did not type."""
_DATA_URL = re.compile(r"data:(?P<media>[\w.+-]+/[\w.+-]+);base64,(?P<data>.*)", re.DOTALL)
_MEDIA_TYPE = re.compile(r"(image|audio|video|application|text)/[\w.+-]{1,80}")
_TEXT_TYPES = ("text", "input_text", "output_text", "refusal")
_FILES = {
    "image": "image", "document": "document", "image_url": "image", "input_image": "image",
    "imageUrl": "image", "input_audio": "audio", "file": "file",
}  # fmt: skip
"""Name of a block that cannot be imported, by its type."""
_ADDRESSES = ("image_url.url", "image_url", "imageUrl.url", "file.file_data", "source.url")
_DATA = (
    ("source.media_type", "source.data"), ("mimeType", "data"), ("media_type", "data"),
    ("input_audio.format", "input_audio.data"),
)  # fmt: skip
"""Paths of media type and base64 data."""


def text_block(text: Any) -> Json:
    return {"type": "text", "text": text}


def attached(name: str, text: str = "", tag: str = "attached_files") -> Json:
    """Return a file that the model read with a prompt."""
    return {"type": BESIDE, "text": f"<{tag}>\n{name}\n{text}\n</{tag}>"}


def picture(media_type: Any, data: Any, kind: str = "image") -> Json:
    return {"type": kind, "source": {"type": "base64", "media_type": media_type, "data": data}}


def _address(url: Any) -> Json:
    return {"type": "image_url", "image_url": url}


def file_block(each: Json) -> Json:
    """Return a file of a message, under any of the names that programs use for its fields."""
    if each.get("type") == "image" and "url" in each:
        return _address(each["url"])
    name = text_at(each, "displayName", "file_name", "filename", "name", "filePath", "path", "type")
    text = text_at(each, "extracted_content", "content", "text")
    return picture(each.get("mimeType"), each["data"]) if "data" in each else attached(name, text)


@frozen
class ContentReader:
    """Converts the blocks of one message to content.

    A block that cannot be imported is replaced by a line of text, so that neither user nor model overlooks
    it.
    """

    left_out: Callable[[str], None]
    """Called with the reason for a replaced or dropped block."""
    of_tool: bool = False
    """Whether a tool answered it: then values that are no blocks are data."""

    def content(self, blocks: Any) -> Content:
        """Convert text or a list of blocks. Text alone becomes one string or a list of them."""
        if blocks is None or isinstance(blocks, str):
            return blocks or ""
        if not isinstance(blocks, list):
            return json.dumps(blocks, ensure_ascii=False)
        # A block with several pictures counts as one block for each.
        several = ([_address(url) for url in list_at(block, "image_urls")] or [block] for block in blocks)
        items = [item for apart in several for item in map(self._item, apart) if item != ""]
        if len(items) == 1 and isinstance(items[0], str):
            return items[0]
        return items or ""

    def _item(self, block: Any) -> str | Json:
        if isinstance(block, str):
            return block
        if not isinstance(block, dict):
            self.left_out(f"content block that is not an object: {shown(block)}")
            return ""
        kind = block.get("type")
        text = block.get("text", block.get("refusal"))
        if kind in _TEXT_TYPES and not isinstance(text, str):
            self.left_out(f"text block without text: {shown(text)}")
            return ""
        if isinstance(kind, str) and kind in _FILES:
            return self._file(block, _FILES[kind])
        if isinstance(text, str):
            return text
        if self.of_tool:
            return json.dumps(block, ensure_ascii=False)
        return self._missing(
            text_at(block, "type") or "block", f"content block of unknown type {shown(kind)}"
        )

    def _file(self, block: Json, kind: str) -> str | Json:
        if value_at(block, "source.type") == "text":
            return text_at(block, "source.data")
        media, data = next(
            ((value_at(block, media), found) for media, data in _DATA if (found := value_at(block, data))),
            (None, None),
        )
        if url := text_at(block, *_ADDRESSES):
            match = _DATA_URL.fullmatch(url)
            if match is None:
                # A foreign file must not make the program, or a provider on its behalf, fetch an address.
                self.left_out(f"{kind} by address, kept as text")
                return f"[{kind}: {url}]"
            media, data = match["media"], match["data"]
        if kind == "audio" and isinstance(media, str):
            media = "audio/mpeg" if media == "mp3" else f"audio/{media}"
        return self._binary(media, data, kind)

    def _binary(self, media_type: Any, data: Any, kind: str) -> str | Json:
        if not isinstance(data, str) or not isinstance(media_type, str):
            return self._missing(kind, "it has no data")
        if not _MEDIA_TYPE.fullmatch(media_type):
            return self._missing(kind, "its media type is malformed")
        if len(data) > MAX_BINARY_CHARS:
            return self._missing(kind, f"it is {len(data) * 3 // 4:,} bytes large")
        try:
            decoded = base64.b64decode(data, validate=True)
        except (binascii.Error, ValueError):
            return self._missing(kind, "its data is not base64")
        # Re-encoded: pydantic-ai is stricter about the last character than most encoders.
        return {"kind": "binary", "data": base64.b64encode(decoded).decode(), "media_type": media_type}

    def _missing(self, kind: str, reason: str) -> str:
        self.left_out(f"{kind} left out: {reason}")
        return f"[{kind}, not imported: {reason}]"


def joined(content: Content) -> Content:
    """Join texts into one, as tools answer with a single text."""
    if isinstance(content, str):
        return content
    if all(isinstance(item, str) for item in content):
        return "\n".join(item for item in content if isinstance(item, str))
    return content
