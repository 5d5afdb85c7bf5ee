"""Logs of Inspect: a JSON document with samples, or the ``.eval`` archive of the same."""

import io
import zipfile
import zlib
from dataclasses import replace
from functools import lru_cache
from typing import Any

from tui_app.session.importers.openai_chat import read_role_messages
from tui_app.session.importers.reader import list_at, object_at, record_text, text_at, value_at
from tui_app.session.importers.source import Found, Imported, Json, SkippedLine, Source, parse_json, shown

FORMAT = "inspect-ai"

_ZIP = b"PK\x03\x04"
_ATTACHED = "attachment://"
_ROLES = ("system", "user", "assistant", "tool")
_MAX_SAMPLE = 200_000_000
"""Bytes of an unpacked sample that are still read: an archive may claim any size."""


def is_inspect_ai(source: Source) -> bool:
    """Whether the file is a log with samples."""
    return bool(_samples(source))


def read_inspect_ai(source: Source) -> Imported:
    """Read the first sample; the others are counted."""
    samples = _samples(source)
    sample = samples[0] if samples else {}
    known = object_at(sample, "attachments")
    items = [_role_message(item, known) for item in _messages(sample)]
    owner = {"model": text_at(sample, "output.model")}
    imported = read_role_messages(source, Found(items, owner, max(0, len(samples) - 1)), format=FORMAT)
    damaged = _archived(source.raw)[1] if source.raw.startswith(_ZIP) else ()
    return replace(imported, skipped=(*imported.skipped, *damaged))


def _samples(source: Source) -> list[Json]:
    if source.raw.startswith(_ZIP):
        return list(_archived(source.raw)[0])
    document = source.document
    if not isinstance(document, dict) or not ("eval" in document or "epoch" in document):
        return []
    samples = document.get("samples", [document] if "epoch" in document else None)
    return [sample for sample in samples if _messages(sample)] if isinstance(samples, list) else []


@lru_cache(maxsize=1)
def _archived(raw: bytes) -> tuple[tuple[Json, ...], tuple[SkippedLine, ...]]:
    """The samples of an archive in the order of their names, and those that are damaged."""
    samples: list[Json] = []
    damaged: list[SkippedLine] = []
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            names = sorted(name for name in archive.namelist() if name.startswith("samples/"))
            for number, name in enumerate(names, 1):
                sample = _sample(archive, name)
                if _messages(sample):
                    samples.append(sample)
                else:
                    damaged.append(SkippedLine(line=number, reason=f"{shown(name)} could not be read"))
    except (zipfile.BadZipFile, ValueError, OSError):
        damaged.append(SkippedLine(line=1, reason="the archive is damaged"))
    return tuple(samples), tuple(damaged)


def _sample(archive: zipfile.ZipFile, name: str) -> Any:
    if archive.getinfo(name).file_size > _MAX_SAMPLE:
        return None
    try:
        return parse_json(archive.read(name).decode("utf-8", "replace"))
    except (zipfile.BadZipFile, zlib.error, ValueError, OSError, EOFError, NotImplementedError, RuntimeError):
        return None


def _messages(sample: Any) -> list[Any]:
    messages = list_at(sample, "messages")
    return messages if any(isinstance(item, dict) and item.get("role") in _ROLES for item in messages) else []


def _role_message(item: Any, attachments: Json) -> Any:
    if not isinstance(item, dict):
        return item
    message: Json = _resolved(item, attachments)
    calls = message.get("tool_calls")
    if isinstance(calls, list):
        message["tool_calls"] = [
            {"id": call.get("id"), "function": {"name": call["function"], "arguments": call.get("arguments")}}
            if isinstance(value_at(call, "function"), str)
            else call
            for call in calls
        ]
    content = message.get("content")
    if isinstance(content, list):
        message["content"] = [block for block in content if not _is_reasoning(block)]
        thoughts = [record_text(block, "reasoning") for block in content if _is_reasoning(block)]
        message["reasoning"] = "\n\n".join(filter(None, thoughts))
    if item.get("role") == "tool" and isinstance(item.get("error"), dict) and not message.get("content"):
        message["content"] = record_text(item["error"], "message")
    return message


def _is_reasoning(block: Any) -> bool:
    return isinstance(block, dict) and block.get("type") == "reasoning"


def _resolved(value: Any, attachments: Json) -> Any:
    """The value with long texts put back that the log keeps apart."""
    if isinstance(value, str) and value.startswith(_ATTACHED):
        return attachments.get(value.removeprefix(_ATTACHED), value)
    if isinstance(value, list):
        return [_resolved(item, attachments) for item in value]
    if isinstance(value, dict):
        return {key: _resolved(item, attachments) for key, item in value.items()}
    return value
