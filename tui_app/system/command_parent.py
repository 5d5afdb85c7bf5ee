"""The parent process of a command: ends everything the command started and limits its resources.

On Linux this is a separate program that imports little of the standard library, since each command waits for
it. Its arguments are its own parent's process id, each value of :class:`Inside` after its length, and the
command. It also sets up the command's sandbox.
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
"""Maximum number of processes of a command at the same time."""
LEAST_FREE = 256 << 20
"""Bytes to leave free on the disk of the command's folder."""
_LOOK_S = 0.2
_ENDING_S = 5.0
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_NOT_SET_UP = (
    "[Not run: its sandbox could not be set up ({}). If files were moved meanwhile, run it again.]\n"
)

FREE = Inside()


def parented(command: Sequence[str], inside: Inside = FREE) -> tuple[str, ...]:
    """Prefix a command with a parent that ends all of its children, on systems with such parents.

    Args:
        command: Program and arguments.
        inside: The command's sandbox.
    """
    if sys.platform != "linux":
        return tuple(command)
    given = [word for values in inside for word in (str(len(values)), *values)]
    return (sys.executable, "-I", "-S", "-c", _START, __file__, str(os.getpid()), *given, *command)


_START = """import os, sys
sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(sys.argv[1]))))
from tui_app.system.command_parent import start
start(sys.argv[2:])"""
"""Our folder comes last, so that its modules do not replace those of the standard library."""


def start(words: Sequence[str]) -> NoReturn:
    """Run as the parent process started by :func:`parented`."""
    parent, *rest = words
    values: list[Sequence[str]] = []
    for _ in Inside._fields:
        end = 1 + int(rest[0])
        values.append(rest[1:end])
        rest = rest[end:]
    main(int(parent), Inside(*values), rest)


def main(parent: int, inside: Inside, command: Sequence[str]) -> NoReturn:
    """Run a command, end everything it started, and exit as it did.

    The caller kills the group of this process. Killing it too late hits no other process, because the
    command's parent is in another group and receives a signal when this process ends.
    """
    # On SIGTERM only exit: killing the group must not happen between stopping and ending other processes.
    _adopt(parent, lambda: None)
    me = os.getpid()
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    below = os.fork()
    if below == 0:
        os.setsid()
        _adopt(me, _end_children)
        signal.signal(signal.SIGUSR1, _detach)
        _run(inside, command)
    # SIGUSR1 lets the command outlive us: forward it to the command's parent.
    signal.signal(signal.SIGUSR1, lambda _signal, _frame: os.kill(below, signal.SIGUSR1))
    status = _wait_for(below)
    _end_children()
    _end_as(status)


def _adopt(parent: int, before: Callable[[], None]) -> None:
    """Adopt orphaned descendants, and exit when our own parent does.

    Args:
        parent: Process id of our own parent.
        before: Called before exiting.
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
    """Keep running when our own parent exits."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, 0)


def _run(inside: Inside, command: Sequence[str]) -> NoReturn:
    first = os.fork()
    if first == 0:
        # A separate session also gets its own share of the processor, and leaves us ours.
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
    """Exit as a child did, with the same signal if there was one."""
    if os.WIFSIGNALED(status):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        with contextlib.suppress(OSError):
            signal.signal(os.WTERMSIG(status), signal.SIG_DFL)
        os.kill(os.getpid(), os.WTERMSIG(status))
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


def _wait_for(pid: int) -> int:
    """Wait for one child, reaping others meanwhile, and kill the rest of its group."""
    while True:
        found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)
        if found is not None and found.si_pid == pid:
            # Not reaped yet, so its process id cannot be reused.
            _end_group(pid)
        number, status = os.waitpid(found.si_pid if found is not None else -1, 0)
        if number == pid:
            return status


def _end_group(number: int) -> None:
    """Kill a group at once, so that no member can start another process meanwhile."""
    with contextlib.suppress(OSError):
        os.killpg(number, signal.SIGKILL)


def _end_children() -> None:
    """Kill all descendants: an orphaned one becomes a child of this process."""
    known: set[int] = set()
    end = 0.0
    while True:
        # Stop them first, so that a process that keeps starting others cannot go on.
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
        # A process may hang in the kernel and be impossible to kill.
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
    """Return the beginning of a file in ``/proc``."""
    opened = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(opened, 4096)
    finally:
        os.close(opened)


def _limit_processes() -> None:
    """Let the kernel refuse more processes, which it does for every user but root."""
    if there := _threads():
        # The kernel counts all threads of the user, of which there are no more than on the machine.
        most = there + MOST_PROCESSES
        hard = resource.getrlimit(resource.RLIMIT_NPROC)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(resource.RLIMIT_NPROC, (most, most))


def _remove(inside: Inside) -> None:
    """Remove places that must not exist, and report it."""
    for path in inside.absent:
        root = next(folder for folder in inside.folders if path.startswith(f"{folder}/"))
        # A folder on the way that has become a link leads to a place that programs would act on.
        place = first_link(path, root) or path
        with contextlib.suppress(OSError):
            remove_named(place)
            os.write(2, f"\n[{place} was removed: programs outside the sandbox would obey it.]\n".encode())


def _watch(group: int, inside: Inside) -> None:
    """Check periodically what a command does, and end all of it on excess.

    Args:
        group: The group of most of its processes.
        inside: Names the places to remove if the command creates them.
    """
    known, had_room = _threads(), _has_room()

    def look(_signal: int, _frame: object) -> None:
        nonlocal known
        _remove(inside)
        now, why = _threads(), ""
        # Count the command's own processes only if many appeared on the machine: each count is expensive.
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
    """Return the number of threads on this machine; 0 if unknown."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        return int(_read("/proc/loadavg").split()[3].partition(b"/")[2])
    return 0


def _has_room() -> bool:
    with contextlib.suppress(OSError):
        disk = os.statvfs(".")
        return disk.f_bavail * disk.f_frsize >= LEAST_FREE
    return True


def _become(inside: Inside, command: Sequence[str]) -> NoReturn:
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
