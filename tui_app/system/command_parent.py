"""The parent of a command: nothing that it starts outlives it, or grows beyond what a machine can bear.

On Linux that is a program of the standard library only, and of little of it, since each command waits for it:
its arguments are the number of its own parent, each value of :class:`Inside` behind its length, and the
command. It also keeps the command in.
"""

import contextlib
import ctypes
import os
import resource
import signal
import sys
import time
from collections.abc import Callable, Sequence
from typing import NoReturn

from tui_app.system.containment import Inside, enter
from tui_app.system.descriptors import first_link, remove_named

MOST_PROCESSES = 1_000
"""So many may run below a command at once."""
LEAST_FREE = 256 << 20
"""Bytes that a command leaves free on the disk that its folder is on."""
_LOOK_S = 0.2
_ENDING_S = 5.0
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_NOT_SET_UP = (
    "[Not run: its sandbox could not be set up ({}). If files were moved meanwhile, run it again.]\n"
)

FREE = Inside()


def parented(command: Sequence[str], inside: Inside = FREE) -> tuple[str, ...]:
    """A command below a parent that ends all of its children, where the system has such parents.

    Args:
        command: Program and arguments.
        inside: How it is kept in.
    """
    if sys.platform != "linux":
        return tuple(command)
    given = [word for values in inside for word in (str(len(values)), *values)]
    return (sys.executable, "-I", "-S", "-c", _START, __file__, str(os.getpid()), *given, *command)


_START = """import os, sys
sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(sys.argv[1]))))
from tui_app.system.command_parent import start
start(sys.argv[2:])"""
"""Our folder last: modules in it are not imported for the library's own."""


def start(words: Sequence[str]) -> NoReturn:
    """Be the parent that :func:`parented` writes."""
    parent, *rest = words
    values: list[Sequence[str]] = []
    for _ in Inside._fields:
        end = 1 + int(rest[0])
        values.append(rest[1:end])
        rest = rest[end:]
    main(int(parent), Inside(*values), rest)


def main(parent: int, inside: Inside, command: Sequence[str]) -> NoReturn:
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
        signal.signal(signal.SIGUSR1, _detach)
        _run(inside, command)
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


def _detach(_signal: int, _frame: object) -> None:
    """Go on when the own parent ends."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, 0)


def _run(inside: Inside, command: Sequence[str]) -> NoReturn:
    first = os.fork()
    if first == 0:
        # A session of its own also has a share of the processor of its own, and leaves us ours.
        os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        _limit_processes()
        _become(inside, command)
    _watch(first, inside)
    status = _wait_for(first)
    _end_children()
    _remove(inside)
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


def _limit_processes() -> None:
    """Let the kernel refuse more processes, which it does for everybody but root."""
    if there := _threads():
        # It counts all of a user's, of which there are no more than there are on the machine.
        most = there + MOST_PROCESSES
        hard = resource.getrlimit(resource.RLIMIT_NPROC)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(resource.RLIMIT_NPROC, (most, most))


def _remove(inside: Inside) -> None:
    """Take away what must not be there, and say so."""
    for path in inside.absent:
        root = next(folder for folder in inside.folders if path.startswith(f"{folder}/"))
        # A folder on the way that is a link by now leads to what would be obeyed.
        gone = first_link(path, root) or path
        with contextlib.suppress(OSError):
            remove_named(gone)
            os.write(2, f"\n[{gone} was removed: programs outside the sandbox would obey it.]\n".encode())


def _watch(group: int, inside: Inside) -> None:
    """Look now and then at what a command does, and end all of it where that is too much.

    Args:
        group: The group that most of it is in.
        inside: What is taken away where it makes it.
    """
    known, had_room = _threads(), _has_room()

    def look(_signal: int, _frame: object) -> None:
        nonlocal known
        _remove(inside)
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
            _remove(inside)
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


def _become(inside: Inside, command: Sequence[str]) -> NoReturn:
    """Become the command, kept in where that is wanted."""
    try:
        words = enter(inside, command)
    except OSError as error:
        os.write(2, _NOT_SET_UP.format(error.strerror).encode())
        os._exit(126)
    try:
        os.execvp(words[0], words)
    except OSError as error:
        os.write(2, f"{command[0]}: {error.strerror}\n".encode())
        os._exit(126 if isinstance(error, PermissionError) else 127)
