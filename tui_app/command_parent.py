"""The parent of a command: nothing that it starts outlives it, or grows beyond what a machine can bear.

On Linux this file is that parent, as a program of the standard library only, and of little of it, since each
command waits for it: ``python -I -S command_parent.py PARENT ABI NETWORK TEMPORARY COUNT FOLDER …
COUNT ABSENT … PROGRAM …``. With a version of Landlock it also keeps the command from writing outside of
the folders.
"""

import contextlib
import ctypes
import os
import resource
import signal
import stat
import sys
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple, NoReturn

MOST_PROCESSES = 1_000
"""So many may run below a command at once."""
LEAST_FREE = 256 << 20
"""Bytes that a command leaves free on the disk that its folder is on."""
NETWORK_ABI = 4
"""Version of Landlock from which on it keeps from the network."""
_LOOK_S = 0.2
_ENDING_S = 5.0
_PR_CAPBSET_DROP, _CAPABILITIES, _CAPABILITY_VERSION = 24, 64, 0x20080522
_KEPT_CAPABILITIES = 0b1111
"""To own, read, write and change files, which Landlock bounds."""
_PR_SET_PDEATHSIG, _PR_SET_NO_NEW_PRIVS, _PR_SET_CHILD_SUBREAPER = 1, 38, 36


class Landlock(NamedTuple):
    """What keeps a command in."""

    abi: int = 0
    """Its version; 0 for nothing."""
    network: bool = True
    temporary: str = ""
    """Where the command keeps temporary files."""
    folders: Sequence[str] = ()
    """Where else it may write."""


FREE = Landlock()


def parented(
    command: Sequence[str], inside: Landlock = FREE, absent: Sequence[os.PathLike[str]] = ()
) -> tuple[str, ...]:
    """A command below a parent that ends all of its children, where the system has such parents.

    Args:
        command: Program and arguments.
        inside: How it is kept in.
        absent: Files that are not there and must not come into being; they are removed.
    """
    if sys.platform != "linux":
        return tuple(command)
    abi, network, temporary, folders = inside
    given = (os.getpid(), abi, int(network), temporary, len(folders), *folders, len(absent), *absent)
    return (sys.executable, "-I", "-S", __file__, *map(str, given), *command)


def landlock_abi() -> int:
    """Version of Landlock that the kernel has; 0 or less for none."""
    return int(ctypes.CDLL(None).syscall(444, None, 0, 1))


def main(parent: int, inside: Landlock, absent: Sequence[str], command: Sequence[str]) -> NoReturn:
    """Run a command, end with it all that it has started, and end as it has ended.

    Whoever started this process kills its group, and whoever kills that one too late kills nobody's else: the
    parent of the command stands in a group of its own, and is told when this process is gone.
    """
    # Told to end, it only goes: whoever kills its group must not meet it between stopping and ending others.
    _adopt(parent, lambda: None)
    me = os.getpid()
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    below = os.fork()
    if below == 0:
        os.setsid()
        _adopt(me, _end_children)
        signal.signal(signal.SIGUSR1, _let_go)
        _run(inside, absent, command)
    # Whoever wants the command to outlive us says so: it is passed on to the parent of the command.
    signal.signal(signal.SIGUSR1, lambda _signal, _frame: os.kill(below, signal.SIGUSR1))
    status = _wait_for(below)
    _end_children()
    _end_as(status)


def _adopt(parent: int, before: Callable[[], None]) -> None:
    """Become the parent of whoever loses its own, and end when the own parent ends.

    Args:
        parent: Its number.
        before: What is done first then.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PR_SET_CHILD_SUBREAPER, 1)

    def end(_signal: int, _frame: object) -> None:
        before()
        os._exit(143)

    signal.signal(signal.SIGTERM, end)
    libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:
        os._exit(143)


def _let_go(_signal: int, _frame: object) -> None:
    """Go on when the own parent ends."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, 0)


def _run(inside: Landlock, absent: Sequence[str], command: Sequence[str]) -> NoReturn:
    first = os.fork()
    if first == 0:
        # A session of its own also has a share of the processor of its own, and leaves us ours.
        os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        _limit_processes()
        _become(inside, command)
    _watch(first, absent)
    status = _wait_for(first)
    _end_children()
    _remove(absent)
    _end_as(status)


def _end_as(status: int) -> NoReturn:
    """End as a child has ended, by the same signal if it was one."""
    if os.WIFSIGNALED(status):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        with contextlib.suppress(OSError):
            signal.signal(os.WTERMSIG(status), signal.SIG_DFL)
        os.kill(os.getpid(), os.WTERMSIG(status))
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


def _wait_for(pid: int) -> int:
    """Wait for one child, and for all others that end meanwhile; what is left of its group ends with it."""
    while True:
        found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)
        if found is not None and found.si_pid == pid:
            # Not taken yet, so its number is nobody else's.
            _end_group(pid)
        number, status = os.waitpid(found.si_pid if found is not None else -1, 0)
        if number == pid:
            return status


def _end_group(number: int) -> None:
    """End a group at once: none of it can start another one meanwhile."""
    with contextlib.suppress(OSError):
        os.killpg(number, signal.SIGKILL)


def _end_children() -> None:
    """End all descendants: whoever leaves its parent becomes a child of this process."""
    known: set[int] = set()
    end = 0.0
    while True:
        # Stopped first: what starts others without end is then as many as it is.
        for each in (signal.SIGSTOP, signal.SIGKILL):
            found = _descendants()
            for number in found:
                with contextlib.suppress(OSError):
                    os.kill(number, each)
            if not known.issuperset(found):
                known.update(found)
                end = time.monotonic() + _ENDING_S
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        # Of those that were found already one may hang in the system, and cannot be ended.
        if time.monotonic() > end:
            return
        time.sleep(0.005)


def _descendants() -> list[int]:
    parents: dict[int, list[int]] = {}
    with os.scandir("/proc") as entries:
        for name in (entry.name for entry in entries if entry.name.isdigit()):
            with contextlib.suppress(OSError, ValueError, IndexError):
                parent = int(_read(f"/proc/{name}/stat").rpartition(b")")[2].split()[1])
                parents.setdefault(parent, []).append(int(name))
    found, waiting = [], [os.getpid()]
    while waiting:
        children = parents.get(waiting.pop(), [])
        found += children
        waiting += children
    return found


def _read(path: str) -> bytes:
    """The beginning of a file of the system's."""
    opened = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(opened, 4096)
    finally:
        os.close(opened)


# What a command may not do to the machine: start others without end, and fill the disk.


def _limit_processes() -> None:
    """Let the kernel refuse more processes, which it does for everybody but root."""
    if there := _threads():
        # It counts all of a user's, of which there are no more than there are on the machine.
        most = there + MOST_PROCESSES
        hard = resource.getrlimit(resource.RLIMIT_NPROC)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(resource.RLIMIT_NPROC, (most, most))


def _remove(absent: Sequence[str]) -> None:
    """Take away what must not be there, and say so."""
    for path in absent:
        with contextlib.suppress(OSError):
            # At once, whatever it is: whoever obeys it may come any moment.
            gone = f"{path}.removed-{os.getpid()}"
            os.rename(path, gone)  # noqa: PTH104
            if stat.S_ISDIR(os.lstat(gone).st_mode):
                import shutil

                shutil.rmtree(gone, ignore_errors=True)
            else:
                os.unlink(gone)  # noqa: PTH108
            os.write(2, f"\n[{path} was removed: programs outside the sandbox would obey it.]\n".encode())


def _watch(group: int, absent: Sequence[str]) -> None:
    """Look now and then at what a command does, and end all of it where that is too much.

    Args:
        group: The group that most of it is in.
        absent: What is taken away where it makes it.
    """
    known, had_room = _threads(), _has_room()

    def look(_signal: int, _frame: object) -> None:
        nonlocal known
        _remove(absent)
        now, why = _threads(), ""
        # Only where many have come, whosoever they are, its own are counted: it costs a look at each.
        if now - known <= MOST_PROCESSES // 2:
            known = min(known, now)
        elif len(_descendants()) > MOST_PROCESSES:
            why = f"more than {MOST_PROCESSES:,} processes"
        else:
            known = now
        if had_room and not _has_room():
            why = f"less than {LEAST_FREE >> 20} MB left on the disk"
        if why:
            signal.setitimer(signal.ITIMER_REAL, 0)
            _end_group(group)
            _end_children()
            _remove(absent)
            os.write(2, f"\n[Stopped, with everything it had started: {why}.]\n".encode())
            _end_as(signal.SIGKILL)

    signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, _LOOK_S, _LOOK_S)


def _threads() -> int:
    """How many there are on this machine; 0 where it does not say."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        return int(_read("/proc/loadavg").split()[3].partition(b"/")[2])
    return 0


def _has_room() -> bool:
    with contextlib.suppress(OSError):
        disk = os.statvfs(".")
        return disk.f_bavail * disk.f_frsize >= LEAST_FREE
    return True


# Becoming the command.


def _become(inside: Landlock, command: Sequence[str]) -> NoReturn:
    """Become the command, kept in by Landlock where that is wanted."""
    try:
        env = dict(os.environ)
        if inside.abi:
            env["TMPDIR"] = inside.temporary
            _restrict([*inside.folders, inside.temporary], inside.abi, network=inside.network)
        os.execvpe(command[0], list(command), env)
    except OSError as error:
        os.write(2, f"{command[0]}: {error.strerror}\n".encode())
        os._exit(126 if isinstance(error, PermissionError) else 127)


_WRITES = 0b1_1111_1111_0010 & ~0b1100
"""Rights of Landlock's first version that change something: write, remove, make; not read."""
_REFER, _TRUNCATE, _DEVICE = 1 << 13, 1 << 14, 1 << 15
_MAKES_DEVICES = 1 << 6 | 1 << 11
"""Nobody's right: root would reach each disk by a device of its own."""
_FILE_RIGHTS = (1 << 1) | _TRUNCATE | _DEVICE
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/shm")


def _restrict(folders: Sequence[str], abi: int, *, network: bool) -> None:
    """Let this process write below some folders only.

    Raises:
        OSError: if the kernel refuses: the command must not run then.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    rights = _WRITES | (_REFER if abi >= 2 else 0) | (_TRUNCATE if abi >= 3 else 0)
    rights |= _DEVICE if abi >= 5 else 0
    tcp = 3 if not network and abi >= NETWORK_ABI else 0
    scoped = 3 if abi >= 6 else 0
    size = 8 if abi < NETWORK_ABI else 16 if abi < 6 else 24
    attributes = (ctypes.c_uint64 * 3)(rights, tcp, scoped)
    ruleset = libc.syscall(444, ctypes.byref(attributes), ctypes.c_size_t(size), 0)
    if ruleset < 0:
        raise OSError(ctypes.get_errno(), "the sandbox cannot be set up")
    for path in (*folders, *_DEVICES):
        try:
            opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            continue
        allowed = rights if stat.S_ISDIR(os.fstat(opened).st_mode) else rights & _FILE_RIGHTS
        allowed &= ~_MAKES_DEVICES
        rule = (ctypes.c_uint32 * 3)(allowed & 0xFFFFFFFF, allowed >> 32, opened)
        if libc.syscall(445, ruleset, 1, ctypes.byref(rule), 0):
            raise OSError(ctypes.get_errno(), "the sandbox cannot be set up")
        os.close(opened)
    _drop_capabilities(libc)
    libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    if libc.syscall(446, ruleset, 0):
        raise OSError(ctypes.get_errno(), "the sandbox cannot be set up")
    os.close(ruleset)


def _drop_capabilities(libc: ctypes.CDLL) -> None:
    """Give up what only root may do, but for files: a folder in a container is often somebody else's."""
    for number in range(_CAPABILITIES):
        if not (_KEPT_CAPABILITIES >> number) & 1:
            libc.prctl(_PR_CAPBSET_DROP, number, 0, 0, 0)
    # Effective, permitted and inheritable, first the lower and then the upper half of each.
    head, held = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0), (ctypes.c_uint32 * 6)()
    if libc.capget(ctypes.byref(head), ctypes.byref(held)) == 0:
        kept = (ctypes.c_uint32 * 6)(held[0] & _KEPT_CAPABILITIES, held[1] & _KEPT_CAPABILITIES)
        libc.capset(ctypes.byref(head), ctypes.byref(kept))


if __name__ == "__main__":
    _parent, _abi, _network = map(int, sys.argv[1:4])
    _first = 6 + int(sys.argv[5])
    _second = _first + 1 + int(sys.argv[_first])
    _folders, _absent = sys.argv[6:_first], sys.argv[_first + 1 : _second]
    _inside = Landlock(_abi, bool(_network), sys.argv[4], _folders)
    main(_parent, _inside, _absent, sys.argv[_second:])
