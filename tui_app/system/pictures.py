"""Pictures in the form that providers accept: of a common type, and no larger than a model sees.

Larger ones would be refused, or scaled down by the provider after sending. A pasted picture is kept in a
file, so that a prompt can name it.
"""

import io
import re
import warnings
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tui_app.files import write_bytes_atomic

if TYPE_CHECKING:
    from PIL.Image import Image

LARGEST_FILE = 32 * 1024 * 1024
"""Maximum bytes of a picture that is read."""
MOST_BYTES = 3_700_000
"""Maximum bytes of a picture that is sent: in base64 a little less than Anthropic's 5 MB."""
LONGEST_SIDE = 1_568
"""Pixels; every provider scales larger pictures down to about that for the model."""
_ACCEPTED_SIDE = 2_000
"""Pixels of a side above which Anthropic refuses a picture among many."""
_QUALITY = 85
PASTED = "clipboard:"
"""Prefix of a pasted picture's name, as in a prompt after ``@``."""
_NAME = re.compile(rf"{PASTED}([0-9a-f]{{16}})\.(png|jpg|gif|webp)")
PASTED_MENTION = re.compile(rf"@{_NAME.pattern}")
"""Mention of a pasted picture in a prompt."""
_ENDINGS = {"image/png": "png", "image/jpeg": "jpg", "image/gif": "gif", "image/webp": "webp"}
_NAMES = (".jpeg", *(f".{ending}" for ending in _ENDINGS.values()))
_MOST_KEPT = 128 * 1024 * 1024
"""Maximum bytes of pasted pictures kept; the oldest are deleted first."""


class UnusablePicture(Exception):
    """Raised when a picture cannot be sent; the text completes ``NAME is not attached:``."""


class Picture(NamedTuple):
    """A picture that can be sent."""

    data: bytes
    media_type: str
    width: int = 0
    """Pixels; 0 if unknown."""
    height: int = 0
    was: tuple[int, int] = (0, 0)
    """Size before scaling; zeros if it was not scaled."""

    @property
    def about(self) -> str:
        """``640 × 480``, with the previous size if it was larger."""
        if not self.width:
            return f"{len(self.data):,} bytes"
        scaled = f", scaled down from {self.was[0]} × {self.was[1]}" if any(self.was) else ""
        return f"{self.width} × {self.height}{scaled}"


def image_type(data: bytes) -> str:
    """Return a picture's media type by its first bytes; empty if not every provider accepts it."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data[:6] in (b"GIF87a", b"GIF89a"):
        return "image/gif"
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return ""


def is_picture_name(path: str) -> bool:
    """Return whether a file name is that of a picture."""
    return path.lower().endswith(_NAMES)


def size_of(data: bytes) -> tuple[int, int] | None:
    """Return the width and height in pixels from a picture's header; None if it is damaged or no picture."""
    if not image_type(data):
        return None
    # Imported only when there is a picture.
    from PIL import Image as images

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with images.open(io.BytesIO(data), formats=("PNG", "JPEG", "GIF", "WEBP")) as image:
                width, height = image.size
    except Exception:  # a damaged file may raise anything
        return None
    return (width, height) if width > 0 and height > 0 else None


def fitted(data: bytes) -> Picture:
    """Scale a picture down to what providers read, if it is larger. Blocks.

    Raises:
        UnusablePicture: if it is no picture, is damaged, or is far too large.
    """
    if not (media_type := image_type(data)):
        raise UnusablePicture("it is not a PNG, JPEG, GIF or WebP picture")
    # Imported only when there is a picture.
    from PIL import Image as images
    from PIL import ImageOps

    try:
        with warnings.catch_warnings():
            # A few bytes may claim billions of pixels.
            warnings.simplefilter("error")
            with images.open(io.BytesIO(data), formats=("PNG", "JPEG", "GIF", "WEBP")) as image:
                width, height = image.size
                if max(width, height) <= LONGEST_SIDE and len(data) <= MOST_BYTES:
                    image.verify()
                    return Picture(data, media_type, width, height)
                scaled = ImageOps.exif_transpose(image)
                scaled.thumbnail((LONGEST_SIDE, LONGEST_SIDE))
                small, kind = _encoded(scaled, media_type)
                return Picture(small, kind, *scaled.size, was=(width, height))
    except Exception as error:  # a damaged file may raise anything
        if isinstance(error, images.DecompressionBombError | images.DecompressionBombWarning):
            raise UnusablePicture("the picture has far too many pixels") from error
        raise UnusablePicture("the picture is damaged") from error


@lru_cache(maxsize=32)
def sendable(data: bytes) -> Picture | None:
    """Return a picture that every provider accepts, always equal for equal bytes; None if damaged.

    A picture of another type is not changed. Blocks if it has to be scaled down.
    """
    if not (media_type := image_type(data)):
        return Picture(data, "")
    size = size_of(data)
    if size is not None and max(size) <= _ACCEPTED_SIDE and len(data) <= MOST_BYTES:
        return Picture(data, media_type, *size)
    try:
        return fitted(data)
    except UnusablePicture:
        return None


def _encoded(image: "Image", media_type: str) -> tuple[bytes, str]:
    """Encode as PNG if that is small enough and the original was no photograph, else as JPEG."""
    out = io.BytesIO()
    if media_type != "image/jpeg":
        image.save(out, "PNG", optimize=False)
        if out.tell() <= MOST_BYTES:
            return out.getvalue(), "image/png"
        out = io.BytesIO()
    image.convert("RGB").save(out, "JPEG", quality=_QUALITY)
    return out.getvalue(), "image/jpeg"


def keep_pasted(folder: Path, picture: Picture) -> str:
    """Save a pasted picture and return the name by which a prompt attaches it. Blocks.

    Raises:
        OSError: if it cannot be written.
    """
    # The first frame loads this module, but does not need it.
    import hashlib

    digest = hashlib.sha256(picture.data).hexdigest()[:16]
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    ending = _ENDINGS[picture.media_type]
    write_bytes_atomic(folder / f"{digest}.{ending}", picture.data)
    kept = sorted(
        (path for path in folder.iterdir() if path.is_file()), key=lambda path: path.stat().st_mtime
    )
    excess = sum(path.stat().st_size for path in kept) - _MOST_KEPT
    for path in kept[:-1]:
        if excess <= 0:
            break
        excess -= path.stat().st_size
        with suppress(OSError):
            path.unlink()
    return f"{PASTED}{digest}.{ending}"


def pasted_file(folder: Path, name: str) -> Path | None:
    """Return the file of a pasted picture by its name; None for any other name."""
    found = _NAME.fullmatch(name)
    return folder / f"{found[1]}.{found[2]}" if found else None
