"""Files attached to a prompt, read when its turn begins, or the reason why one is not attached."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from pathlib import Path

from tui_app.agent.approvals.rules import Action, Verdict
from tui_app.agent.tools.workspace import ToolProblem, Workspace, open_regular
from tui_app.context.counting.image_tokens import IMAGE_TOKENS
from tui_app.records import frozen
from tui_app.system.pictures import LARGEST_FILE, UnusablePicture, fitted, image_type, pasted_file
from tui_app.system.project_files import MayRead, anything, folders_of
from tui_app.tool_specs import READ_FILE

MAX_BYTES = 128 * 1024
"""A larger file is only named: the model can read the parts it needs."""
MAX_FILES = 16
"""Maximum files attached to one prompt."""


CHECKED, GOAL = "output of the check", "how the goal is checked"
"""Names of two attachments the program adds: the output of a goal's check, and how the goal is checked."""


@frozen
class AttachedFile:
    """A text file or picture sent with the prompt."""

    path: str
    text: str = ""
    picture: bytes = field(default=b"", repr=False)
    """The bytes that are sent; empty for text."""
    media_type: str = ""
    """Of the picture, such as ``image/png``."""

    @property
    def tokens(self) -> int:
        """Estimated tokens it adds to a request."""
        return IMAGE_TOKENS if self.picture else max(1, -(-len(self.text) // 4))


@frozen
class NamedPath:
    """A path that stays plain text in the prompt."""

    path: str
    why: str
    """Ends the sentence ``@path is not attached:``."""
    is_folder: bool = False
    """Whether it is a folder, which is never attached."""

    @property
    def sentence(self) -> str:
        return f"@{self.path} is not attached: {self.why}."

    @property
    def is_telling(self) -> bool:
        """Whether to tell the user: they meant a file, rather than a name or a folder."""
        return not self.is_folder and ("." in self.path or "/" in self.path)


Attachment = AttachedFile | NamedPath


def file_gate(judged: Callable[[Action], Verdict], folder: Path, closed: Sequence[Path] = ()) -> MayRead:
    """Apply the rules for ``read_file`` to files that are sent without the model asking for them.

    A file is checked by its real path and by the path as written, relative to each folder of the repository,
    so a link cannot evade a rule. A file that a rule asks about is not read, except if the rule asks about
    all files alike: the user named this one, or trusts who did.

    Args:
        judged: Judges a call by the rules.
        folder: The working folder.
        closed: Plimsoll's own folders; those inside the repository are not read.
    """
    places = folders_of(folder)
    hidden = [real for each in closed if (real := each.resolve()).is_relative_to(places[0])]

    def refusal(called: Path, real: Path) -> str:
        if any(real.is_relative_to(each) for each in hidden):
            return "it is in a folder of Plimsoll itself"
        names = dict.fromkeys(
            path.relative_to(place).as_posix()
            for path in (real, called.absolute())
            for place in reversed(places)
            if path.is_relative_to(place)
        )
        subject, *spelled = names or [real.as_posix()]
        tool, other = READ_FILE.name, tuple(spelled)
        verdict = judged(Action(tool=tool, kind="file", subject=subject, looks=True, spelled=other))
        if verdict.ruling == "deny":
            return f'the rule "{verdict.rule}" forbids it'
        asks = verdict.ruling == "ask" and len(verdict.rule.split()) > 1
        return f'the rule "{verdict.rule}" asks about it' if asks else ""

    return refusal


def read_attachments(
    workspace: Workspace, paths: Iterable[str], may_read: MayRead = anything, pasted: Path | None = None
) -> list[Attachment]:
    """Read the files a prompt names, in order, each once. Blocks on the disk.

    Args:
        workspace: Files outside it are refused, also those reached through links.
        paths: As the user wrote them, relative to the workspace.
        may_read: Applies the rules to a file.
        pasted: Where pictures from the clipboard are kept.
    """
    read: list[Attachment] = []
    for path in dict.fromkeys(paths):
        if sum(isinstance(each, AttachedFile) for each in read) >= MAX_FILES:
            read.append(NamedPath(path, f"{MAX_FILES} files are already attached"))
            continue
        try:
            own = pasted_file(pasted, path) if pasted is not None else None
            read.append(_read(workspace, path, may_read) if own is None else _picture(path, own.read_bytes()))
        except ToolProblem:
            read.append(NamedPath(path, "it is not a file in this folder"))
        except OSError as error:
            read.append(NamedPath(path, f"it cannot be read ({error.strerror})"))
    return read


def _read(workspace: Workspace, path: str, may_read: MayRead) -> Attachment:
    found = workspace.resolve(path)
    if found.is_dir():
        return NamedPath(path, "it is a folder, the model can list it", is_folder=True)
    if not found.exists():
        return NamedPath(path, "there is no such file")
    real = workspace.file(path)
    if why := may_read(workspace.root / path, real):
        return NamedPath(path, why)
    size = real.stat().st_size
    with open_regular(real) as file:
        data = file.read(MAX_BYTES + 1)
        if is_picture := bool(image_type(data)):
            data += file.read(LARGEST_FILE + 1 - len(data))
    if is_picture:
        return _picture(path, data)
    if len(data) > MAX_BYTES:
        size = max(size, len(data))
        return NamedPath(
            path, f"{size / 1024:,.0f} kB is more than {MAX_BYTES // 1024} kB, the model can read parts of it"
        )
    if b"\0" in data:
        return NamedPath(path, "it is not text")
    return AttachedFile(path, data.decode("utf-8-sig", "replace").replace("\r\n", "\n"))


def attached_bytes(name: str, data: bytes) -> Attachment:
    """Text or picture, detected from the bytes that a server sent."""
    if kind := image_type(data):
        return AttachedFile(name, picture=data, media_type=kind)
    try:
        return AttachedFile(name, data.decode())
    except UnicodeDecodeError:
        return NamedPath(name, "it is neither text nor a picture")


def _picture(path: str, data: bytes) -> Attachment:
    if len(data) > LARGEST_FILE:
        return NamedPath(path, f"the picture is larger than {LARGEST_FILE // 1024 // 1024} MB")
    try:
        picture = fitted(data)
    except UnusablePicture as unusable:
        return NamedPath(path, str(unusable))
    return AttachedFile(path, picture=picture.data, media_type=picture.media_type)
