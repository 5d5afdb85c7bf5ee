"""Containment of a process: what it may write, read and call, enforced by the kernel.

For the commands of a model. Uses only the standard library, like the parent process of each command. The
places are mounts of a namespace that bubblewrap inherits. Each mount is made by descriptor, because a path
may lead to another place if another command has just created a link. Namespaces and Landlock leave file
system sockets accessible, which belong to the user's programs, and a terminal that takes input of ``TIOCSTI``
as typed: a filter of system calls (seccomp) blocks these.
"""

import ctypes
import errno
import os
import stat
import struct
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tui_app.system.descriptors import open_named


class Inside(NamedTuple):
    """The sandbox of a command."""

    folders: Sequence[str] = ()
    """Folders where it may write, none inside another; empty for no sandbox."""
    temporary: Sequence[str] = ()
    """Folder of its temporary files."""
    network: Sequence[str] = ()
    """Not empty if it has network access."""
    landlock: Sequence[str] = ()
    """The kernel's version of Landlock, if that is used instead of bubblewrap."""
    held: Sequence[str] = ()
    """Folders that cannot be moved or removed; outer ones first."""
    fixed: Sequence[str] = ()
    """Places that cannot be changed."""
    covered: Sequence[str] = ()
    """Places that cannot be read."""
    absent: Sequence[str] = ()
    """Places that do not exist and must not be created; they are removed."""


def enter(inside: Inside, command: Sequence[str]) -> list[str]:
    """Contain this process and everything it will start.

    Args:
        inside: The sandbox.
        command: What the process becomes: bubblewrap with its command, or the command itself.

    Returns:
        The command, with descriptors instead of the places that were opened.

    Raises:
        OSError: if the kernel refuses, or a link is on the way: the command must not run then.
    """
    words = list(command)
    if not inside.folders:
        return words
    if inside.landlock:
        os.environ["TMPDIR"] = inside.temporary[0]
        _restrict([*inside.folders, *inside.temporary], int(inside.landlock[0]))
    else:
        _fix_places(inside, inside.temporary[0])
        pairs = zip(["", *words], words, strict=False)
        words = [_opened(word) if before == _OPENED else word for before, word in pairs]
    # A network namespace blocks internet sockets; Landlock allows some kinds.
    inner = _NETLINK if inside.landlock else _INTERNET
    _filter_calls(() if inside.network else inner)
    return words


def _opened(path: str) -> str:
    opened = open_named(path)
    os.set_inheritable(opened, True)
    return str(opened)


def landlock_abi() -> int:
    """Return the kernel's version of Landlock; 0 or less for none."""
    return int(_libc.syscall(444, None, 0, 1))


_OPENED = "--bind-fd"
"""Option of bubblewrap followed by a path, which is opened here without following links."""
_CLONE_NEWNS, _CLONE_NEWUSER = 0x00020000, 0x10000000
_MS_RDONLY, _MS_NOSUID, _MS_NODEV, _MS_REC, _MS_PRIVATE = 1, 2, 4, 1 << 14, 1 << 18
_OPEN_TREE, _MOVE_MOUNT, _MOUNT_SETATTR = 428, 429, 442
_CLONED, _RECURSIVE, _EMPTY_PATH = 1 | os.O_CLOEXEC, 0x8000, 0x1000
_FROM_AND_ONTO_DESCRIPTORS = 0x4 | 0x40
_libc = ctypes.CDLL(None, use_errno=True)


def _fix_places(inside: Inside, temporary: str) -> None:
    """Enter a namespace in which the places are mounted as they have to stay."""
    _enter_namespace()
    trees = [(folder, _tree(open_named(folder))) for folder in inside.folders]
    shown = _tree(open_named(temporary))
    for place in inside.held:
        if (opened := _open(place)) is not None:
            # Without nested mounts, which are attached above it again below.
            _attach(_tree(opened, recursive=0), opened)
    for folder, tree in trees:
        # Above the others: files are moved and linked between them as within one folder.
        _attach(tree, open_named(folder))
    for place in inside.fixed:
        if (opened := _open(place)) is not None:
            _attach(_tree(opened, _MS_RDONLY), opened)
    for place in inside.covered:
        # The folder of temporary files has to be visible all the same.
        _cover(place, shown if f"{temporary}/".startswith(f"{place}/") else None)


def _cover(place: str, shown: int | None) -> None:
    """Cover a place with what is shown there, or with nothing."""
    if (opened := _open(place)) is None:
        return
    if shown is not None:
        _attach(shown, opened)
    elif stat.S_ISDIR(os.fstat(opened).st_mode):
        flags = _MS_RDONLY | _MS_NOSUID | _MS_NODEV
        _must(_libc.mount(b"none", f"/proc/self/fd/{opened}".encode(), b"tmpfs", flags, b"size=4k"))
    else:
        _attach(_tree(open_named("/dev/null")), opened)


def _enter_namespace() -> None:
    user, group = os.getuid(), os.getgid()
    _must(_libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNS))
    maps = {"setgroups": "deny", "uid_map": f"{user} {user} 1", "gid_map": f"{group} {group} 1"}
    for name, text in maps.items():
        file = os.open(f"/proc/self/{name}", os.O_WRONLY)
        os.write(file, text.encode())
        os.close(file)
    _must(_libc.mount(None, b"/", None, _MS_REC | _MS_PRIVATE, None))


def _open(place: str) -> int | None:
    """Open a place without following links; None if it no longer exists."""
    try:
        return open_named(place)
    except FileNotFoundError:
        return None


def _tree(opened: int, more: int = 0, recursive: int = _RECURSIVE) -> int:
    """Return a detached mount of an open place."""
    tree = _must(_libc.syscall(_OPEN_TREE, opened, b"", _CLONED | recursive | _EMPTY_PATH))
    attributes = (ctypes.c_uint64 * 4)(more | _MS_NOSUID | _MS_NODEV, 0, 0, 0)
    flags = recursive | _EMPTY_PATH
    _must(_libc.syscall(_MOUNT_SETATTR, tree, b"", flags, ctypes.byref(attributes), ctypes.c_size_t(32)))
    return tree


def _attach(tree: int, opened: int) -> None:
    _must(_libc.syscall(_MOVE_MOUNT, tree, b"", opened, b"", _FROM_AND_ONTO_DESCRIPTORS))


def _must(answer: int) -> int:
    if answer < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return answer


_PR_CAPBSET_DROP, _CAPABILITIES, _CAPABILITY_VERSION = 24, 64, 0x20080522
_KEPT_CAPABILITIES = 0b1111
"""To own, read, write and change files, which Landlock limits."""
_PR_SET_NO_NEW_PRIVS = 38
_WRITES = 0b1_1111_1111_0010 & ~0b1100
"""Rights of Landlock's first version that change something: write, remove, create; not read."""
_REFER, _TRUNCATE, _DEVICE = 1 << 13, 1 << 14, 1 << 15
_MAKES_DEVICES = 1 << 6 | 1 << 11
"""Granted to no command: with a device of its own, root could access every disk."""
_FILE_RIGHTS = (1 << 1) | _TRUNCATE | _DEVICE
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/shm")


def _restrict(folders: Sequence[str], abi: int) -> None:
    """Let this process write only below some folders."""
    rights = _WRITES | (_REFER if abi >= 2 else 0) | (_TRUNCATE if abi >= 3 else 0)
    rights |= _DEVICE if abi >= 5 else 0
    size, scoped = (24, 3) if abi >= 6 else (8, 0)
    attributes = (ctypes.c_uint64 * 3)(rights, 0, scoped)
    ruleset = _must(_libc.syscall(444, ctypes.byref(attributes), ctypes.c_size_t(size), 0))
    for path in (*folders, *_DEVICES):
        try:
            opened = open_named(path)
        except OSError:
            continue
        allowed = rights if stat.S_ISDIR(os.fstat(opened).st_mode) else rights & _FILE_RIGHTS
        allowed &= ~_MAKES_DEVICES
        rule = (ctypes.c_uint32 * 3)(allowed & 0xFFFFFFFF, allowed >> 32, opened)
        _must(_libc.syscall(445, ruleset, 1, ctypes.byref(rule), 0))
        os.close(opened)
    _drop_capabilities()
    _must(_libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    _must(_libc.syscall(446, ruleset, 0))
    os.close(ruleset)


def _drop_capabilities() -> None:
    """Drop root's capabilities, except for files: a folder in a container often belongs to another user."""
    for number in range(_CAPABILITIES):
        if not (_KEPT_CAPABILITIES >> number) & 1:
            _libc.prctl(_PR_CAPBSET_DROP, number, 0, 0, 0)
    # Effective, permitted and inheritable: first the lower, then the upper half of each.
    head, caps = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0), (ctypes.c_uint32 * 6)()
    if _libc.capget(ctypes.byref(head), ctypes.byref(caps)) == 0:
        kept = (ctypes.c_uint32 * 6)(caps[0] & _KEPT_CAPABILITIES, caps[1] & _KEPT_CAPABILITIES)
        _libc.capset(ctypes.byref(head), ctypes.byref(kept))


_MACHINES = {"x86_64": (0xC000003E, 41, 53, 16), "aarch64": (0xC00000B7, 198, 199, 29)}
"""By kind of machine: its number, and the numbers of ``socket``, ``socketpair`` and ``ioctl``."""
_IO_URING_SETUP, _FOREIGN = 425, 0x40000000
"""A call that could open sockets another way; the first call number of x32."""
_INTERNET = (2, 10, 16)
"""Socket families limited by a network namespace: IPv4, IPv6, and netlink."""
_NETLINK = (16,)
_DATAGRAMS = (2, 3)
"""Kinds of socket pairs that can be reconnected to a socket in the file system."""
_TERMINAL = (0x5412, 0x541C)
"""``TIOCSTI`` and ``TIOCLINUX``."""
_LOAD, _AND, _EQUALS, _FROM, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x06
_NUMBER, _MACHINE, _FIRST, _SECOND = 0, 4, 16, 24
"""Offsets of a call's values."""
_ALLOW, _FAIL = 0x7FFF0000, 0x00050000
_PR_SET_SECCOMP, _FILTER = 22, 2
_Row = tuple[int, int, int, int]


def _filter_calls(families: Sequence[int]) -> None:
    """Let this process and everything it starts make only calls that stay inside.

    Args:
        families: Socket families that may be opened; empty for all.
    """
    rows = [*_program(families)]
    if not rows:
        return
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *row) for row in rows))
    given = struct.pack("HxxxxxxP", len(rows), ctypes.addressof(code))
    _must(_libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    _must(_libc.prctl(_PR_SET_SECCOMP, _FILTER, given, 0, 0))


def _program(families: Sequence[int]) -> Iterator[_Row]:
    if (machine := _MACHINES.get(os.uname().machine)) is None:
        return
    number, socket, pair, ioctl = machine
    denied, missing = _FAIL | errno.EACCES, _FAIL | errno.ENOSYS
    yield from ((_LOAD, 0, 0, _MACHINE), (_EQUALS, 1, 0, number), (_RETURN, 0, 0, missing))
    yield from ((_LOAD, 0, 0, _NUMBER), (_FROM, 0, 1, _FOREIGN), (_RETURN, 0, 0, missing))
    yield from _rule(ioctl, _SECOND, 0xFFFFFFFF, _TERMINAL, _FAIL | errno.EPERM, _ALLOW)
    if families:
        yield from _rule(socket, _FIRST, 0xFFFFFFFF, families, _ALLOW, denied)
        yield from _rule(pair, _SECOND, 0xF, _DATAGRAMS, denied, _ALLOW)
        yield from _rule(_IO_URING_SETUP, _FIRST, 0, (), missing, missing)
    yield (_RETURN, 0, 0, _ALLOW)


def _rule(call: int, at: int, mask: int, values: Sequence[int], one_of: int, other: int) -> Iterator[_Row]:
    """Yield the instructions that decide about a call by one of its arguments."""
    count = len(values)
    yield from ((_LOAD, 0, 0, _NUMBER), (_EQUALS, 0, count + 4, call), (_LOAD, 0, 0, at), (_AND, 0, 0, mask))
    yield from ((_EQUALS, count - number, 0, value) for number, value in enumerate(values))
    yield from ((_RETURN, 0, 0, other), (_RETURN, 0, 0, one_of))
