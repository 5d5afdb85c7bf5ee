"""Logs of Inspect: a JSON document with samples, or the ``.eval`` archive of the same."""

import io
import zipfile
import zlib
from collections import Counter
from functools import lru_cache
from typing import Any

from tui_app.session.importers.message_lists import Found
from tui_app.session.importers.shape import Shape
from tui_app.session.importers.source import Json, Source, parse_json, shown
from tui_app.session.importers.values import list_at, object_at, objects_at, text_at, value_at

_ZIP = b"PK\x03\x04"
_ATTACHED = "attachment://"
_ROLES = ("system", "user", "assistant", "tool")
_MAX_UNPACKED = 200_000_000
"""Maximum bytes of unpacked samples: an archive may claim any size."""
_MAX_RATIO = 250
"""Maximum ratio of unpacked to packed size; real archives have at most 40."""
_MAX_USES = 50
"""Maximum messages in which one attachment is restored: a short name may stand for a long text."""


def _find(source: Source) -> Found | None:
    """Return the first sample; the others are counted."""
    samples, damaged = _samples(source)
    if not samples:
        return None
    known, uses = object_at(samples[0], "attachments"), Counter[str]()
    listed = [_resolved(item, known, uses) for item in list_at(samples[0], "messages")]
    notices = [{"unknown": reason} for reason in damaged]
    owner = {"model": text_at(samples[0], "output.model") or text_at(source.document, "eval.model")}
    return Found([*listed, *notices], owner, len(samples) - 1)


def _samples(source: Source) -> tuple[list[Json], list[str]]:
    if source.raw.startswith(_ZIP):
        return _archived(source.raw)
    document = source.document
    if not isinstance(document, dict) or not ("eval" in document or "epoch" in document):
        return [], []
    samples = objects_at(document, "samples") or ([document] if "epoch" in document else [])
    return list(filter(_has_messages, samples)), []


@lru_cache(maxsize=1)
def _archived(raw: bytes) -> tuple[list[Json], list[str]]:
    """Return the samples of an archive ordered by name, and why others cannot be read."""
    samples: list[Json] = []
    damaged: list[str] = []
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            left = min(_MAX_UNPACKED, _MAX_RATIO * len(raw))
            for name in sorted(name for name in archive.namelist() if name.startswith("samples/")):
                size = archive.getinfo(name).file_size
                sample: Any = _sample(archive, name) if size <= left else None
                left -= size if size <= left else 0
                if _has_messages(sample):
                    samples.append(sample)
                else:
                    damaged.append(f"{shown(name)} could not be read")
    except (zipfile.BadZipFile, ValueError, OSError):
        damaged.append("the archive is damaged")
    return samples, damaged


def _sample(archive: zipfile.ZipFile, name: str) -> Any:
    try:
        return parse_json(archive.read(name).decode("utf-8", "replace"))
    except (zipfile.BadZipFile, zlib.error, ValueError, OSError, EOFError, NotImplementedError, RuntimeError):
        return None


def _has_messages(sample: Any) -> bool:
    return any(value_at(item, "role") in _ROLES for item in list_at(sample, "messages"))


def _convert(message: Json) -> Json:
    return {**message, "is_error": bool(message.get("error"))}


def _block(each: Any) -> Any:
    return {**each, "image_url": each["image"]} if text_at(each, "image") else each


def _resolved(value: Any, attachments: Json, uses: Counter[str]) -> Any:
    """Restore the long texts that the log stores as attachments."""
    if isinstance(value, str) and value.startswith(_ATTACHED):
        uses[value] += 1
        known = uses[value] <= _MAX_USES
        return attachments.get(value.removeprefix(_ATTACHED), value) if known else value
    if isinstance(value, list):
        return [_resolved(item, attachments, uses) for item in value]
    if isinstance(value, dict):
        return {key: _resolved(item, attachments, uses) for key, item in value.items()}
    return value


INSPECT_AI = Shape(
    name="inspect-ai", program="Inspect", is_lines=False, fits=lambda source: bool(_samples(source)[0]),
    find=_find, models=("model",), convert=_convert, block=_block, content=("content", "error.message"),
)  # fmt: skip
