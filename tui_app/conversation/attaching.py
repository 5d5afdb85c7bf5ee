"""Files that a person attaches to a prompt: read when its turn begins, or a sentence why not.

Nothing here loads the agent side, so that the editor can say beforehand what a prompt would bring along.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from tui_app.agent.tools.workspace import ToolProblem, Workspace, open_regular
from tui_app.context.counting.attachments import IMAGE_TOKENS, image_type

MAX_BYTES = 128 * 1024
"""A larger file is only named: the model can read the parts that it needs."""
MAX_PICTURE = 5 * 1024 * 1024
"""Bytes of a picture at most; providers refuse larger ones."""
MAX_FILES = 16
"""Files that one prompt brings along at most."""


@dataclass(frozen=True, slots=True)
class Attached:
    """A text file or a picture whose content goes along."""

    path: str
    text: str = ""
    picture: bytes = field(default=b"", repr=False)
    """As it is on disk; empty for text."""
    media_type: str = ""
    """Of the picture, such as ``image/png``."""

    @property
    def tokens(self) -> int:
        """About how many it adds to a request."""
        return IMAGE_TOKENS if self.picture else max(1, -(-len(self.text) // 4))


@dataclass(frozen=True, slots=True)
class OnlyNamed:
    """A path that stays plain text."""

    path: str
    why: str
    """Ends the sentence ``@path is not attached:``."""
    is_folder: bool = False
    """What stands there is a folder, of which nobody expects a content."""

    @property
    def sentence(self) -> str:
        """What the person reads."""
        return f"@{self.path} is not attached: {self.why}."

    @property
    def is_telling(self) -> bool:
        """Whether the person should hear of it: a file was meant, rather than a name or a folder."""
        return not self.is_folder and ("." in self.path or "/" in self.path)


Attachment = Attached | OnlyNamed


def read_attachments(workspace: Workspace, paths: Iterable[str]) -> list[Attachment]:
    """Read what a prompt names, in its order and each file once; blocks on the disk.

    Args:
        workspace: Files outside it are refused, also those behind links.
        paths: As the person wrote them, relative to the workspace.
    """
    read: list[Attachment] = []
    for path in dict.fromkeys(paths):
        full = sum(isinstance(each, Attached) for each in read) >= MAX_FILES
        read.append(
            OnlyNamed(path, f"{MAX_FILES} files go along already") if full else _read(workspace, path)
        )
    return read


def _read(workspace: Workspace, path: str) -> Attachment:
    try:
        real = workspace.resolve(path)
        if real.is_dir():
            return OnlyNamed(path, "it is a folder, the model can list it", is_folder=True)
        if not real.exists():
            return OnlyNamed(path, "there is no such file")
        return _content(path, workspace.file(path))
    except ToolProblem:
        return OnlyNamed(path, "it is no file of this folder")
    except OSError as error:
        return OnlyNamed(path, f"it cannot be read ({error.strerror})")


def _picture(path: str, data: bytes, media_type: str) -> Attachment:
    if len(data) > MAX_PICTURE:
        return OnlyNamed(path, f"the picture is larger than {MAX_PICTURE // 1024 // 1024} MB")
    return Attached(path, picture=data, media_type=media_type)


def _content(path: str, real: Path) -> Attachment:
    size = real.stat().st_size
    with open_regular(real) as file:
        data = file.read(MAX_BYTES + 1)
        if media_type := image_type(data):
            data += file.read(MAX_PICTURE + 1 - len(data))
    if media_type:
        return _picture(path, data, media_type)
    if len(data) > MAX_BYTES:
        size = max(size, len(data))
        return OnlyNamed(
            path, f"{size / 1024:,.0f} kB is more than {MAX_BYTES // 1024} kB, the model can read parts of it"
        )
    if b"\0" in data:
        return OnlyNamed(path, "it is not text")
    return Attached(path, data.decode("utf-8-sig", "replace").replace("\r\n", "\n"))
