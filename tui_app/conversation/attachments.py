"""Files that the user attaches to a prompt: read when its turn begins, or a sentence why not."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from tui_app.agent.tools.workspace import ToolProblem, Workspace, open_regular
from tui_app.context.counting.attachments import IMAGE_TOKENS, image_type

MAX_BYTES = 128 * 1024
"""A larger file is only named: the model can read the parts that it needs."""
MAX_PICTURE = 5 * 1024 * 1024
"""Bytes of a picture at most; providers refuse larger ones."""
MAX_FILES = 16
"""Files that one prompt brings along at most."""


@dataclass(frozen=True, slots=True)
class AttachedFile:
    """A text file or a picture that is sent with the prompt."""

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
class NamedPath:
    """A path that stays plain text in the prompt."""

    path: str
    why: str
    """Ends the sentence ``@path is not attached:``."""
    is_folder: bool = False
    """Whether it is a folder, which nobody expects to be attached."""

    @property
    def sentence(self) -> str:
        return f"@{self.path} is not attached: {self.why}."

    @property
    def is_telling(self) -> bool:
        """Whether the user should hear of it: a file was meant, rather than a name or a folder."""
        return not self.is_folder and ("." in self.path or "/" in self.path)


Attachment = AttachedFile | NamedPath


def read_attachments(workspace: Workspace, paths: Iterable[str]) -> list[Attachment]:
    """Read what a prompt names, in its order and each file once; blocks on the disk.

    Args:
        workspace: Files outside it are refused, also those behind links.
        paths: As the user wrote them, relative to the workspace.
    """
    read: list[Attachment] = []
    for path in dict.fromkeys(paths):
        if sum(isinstance(each, AttachedFile) for each in read) >= MAX_FILES:
            read.append(NamedPath(path, f"{MAX_FILES} files go along already"))
            continue
        try:
            read.append(_read(workspace, path))
        except ToolProblem:
            read.append(NamedPath(path, "it is no file of this folder"))
        except OSError as error:
            read.append(NamedPath(path, f"it cannot be read ({error.strerror})"))
    return read


def _read(workspace: Workspace, path: str) -> Attachment:
    found = workspace.resolve(path)
    if found.is_dir():
        return NamedPath(path, "it is a folder, the model can list it", is_folder=True)
    if not found.exists():
        return NamedPath(path, "there is no such file")
    real = workspace.file(path)
    size = real.stat().st_size
    with open_regular(real) as file:
        data = file.read(MAX_BYTES + 1)
        if media_type := image_type(data):
            data += file.read(MAX_PICTURE + 1 - len(data))
    if media_type:
        if len(data) > MAX_PICTURE:
            return NamedPath(path, f"the picture is larger than {MAX_PICTURE // 1024 // 1024} MB")
        return AttachedFile(path, picture=data, media_type=media_type)
    if len(data) > MAX_BYTES:
        size = max(size, len(data))
        return NamedPath(
            path, f"{size / 1024:,.0f} kB is more than {MAX_BYTES // 1024} kB, the model can read parts of it"
        )
    if b"\0" in data:
        return NamedPath(path, "it is not text")
    return AttachedFile(path, data.decode("utf-8-sig", "replace").replace("\r\n", "\n"))
