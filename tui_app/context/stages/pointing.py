"""The pointer that stands for a text that was written to a file, and the check that it can be found there."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tui_app.context.stages.file_tools import Body
from tui_app.context.stages.rewrite import SpillFile
from tui_app.context.stages.spill import sha256_of

_OPENING = "[Not repeated here: "
_POINTER = re.compile(re.escape(_OPENING) + r"[\d,]+ characters .*…\]", re.DOTALL)
_HASH_DIGITS = 12


@dataclass(slots=True)
class Disk:
    """What the files hold now; each is asked once for its checksum."""

    checksum: Callable[[str], str | None]
    contains: Callable[[str, str], bool]
    _known: dict[str, str | None] = field(default_factory=dict)

    def holds(self, path: str, body: Body, digest: str) -> bool:
        """Whether a file is this body, or has this piece in it."""
        if path not in self._known:
            self._known[path] = self.checksum(path)
        found = self._known[path]
        if found is None:
            return False
        return found.lower() == digest if body.kind == "file" else self.contains(path, body.text)


@dataclass(frozen=True, slots=True)
class Pointer:
    """What takes the place of a body."""

    body: Body
    text: str
    file: SpillFile | None
    """The file that must be there first, of a body that is on disk nowhere else."""


def pointers_to(
    bodies: Sequence[Body], path: str, disk: Disk, new_name: Callable[[], str], preview_chars: int
) -> list[Pointer]:
    """Build pointers for the bodies that are longer than theirs and no pointers yet.

    Args:
        bodies: Texts of one call.
        path: The file they were written to.
        disk: What is in that file now.
        new_name: Names a file for a body that is not there any more.
        preview_chars: Characters of its beginning that a pointer shows.
    """
    found = (
        _pointer(body, path, disk, new_name, preview_chars)
        for body in bodies
        if not _POINTER.fullmatch(body.text)
    )
    return [pointer for pointer in found if len(pointer.text) < len(pointer.body.text)]


def _pointer(body: Body, path: str, disk: Disk, new_name: Callable[[], str], preview_chars: int) -> Pointer:
    digest, file, where = sha256_of(body.text), None, f"in {path}"
    if not disk.holds(path, body, digest):
        file = SpillFile(name=new_name(), text=body.text)
        where = f"written to {path} and kept in {file.name}"
    text = (
        f"{_OPENING}{len(body.text):,} characters {where}, sha256 {digest[:_HASH_DIGITS]}, "
        f"beginning with: {body.text[:preview_chars]}…]"
    )
    return Pointer(body, text, file)
