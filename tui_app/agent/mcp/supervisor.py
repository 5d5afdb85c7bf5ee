"""Runs an MCP server's program and leaves nobody behind; itself a program, of the standard library only.

``python -I -S supervisor.py PROGRAM [ARGUMENT …]``. It stands between us and the server because we may be
killed: its standard input ends then. What the server prints goes through it, bounded: on standard error in
all, else by the line, which is a message. It leads the process group that the server and its children are in.
"""

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading

SAID_BYTES = 64 * 1024
"""Bytes of standard error that are passed on; what comes after is read and dropped."""
LINE_BYTES = 16 << 20
"""Bytes of one message; whoever reads it keeps all of it in memory until it ends."""
GRACE_S = 0.5
"""Seconds the server has after its input has ended, and again after SIGTERM."""
END_MARK = "plimsoll-mcp-ended:"
"""Begins the last line on standard error, in front of why the server is gone; only where nobody ended it."""
_CHUNK = 65_536
_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.S
)
"""An escape sequence of JSON; the group is half of a surrogate pair."""


def mended(line: bytes) -> bytes:
    """A line of JSON with the replacement character for halves of surrogate pairs, which no parser takes."""
    if b"\\u" not in line:
        return line
    return _ESCAPE.sub(lambda found: rb"\ufffd" if found[1] else found[0], line)


def _end(code: int, why: str = "") -> None:
    """Say why, and end the whole group, this process included."""
    with contextlib.suppress(OSError):
        os.write(2, f"\n{END_MARK} {why}\n".encode("utf-8", "replace") if why else b"")
    with contextlib.suppress(OSError):
        os.killpg(os.getpgrp(), signal.SIGKILL)
    os._exit(code)


def _pass_on(source: int) -> None:
    left = SAID_BYTES
    while data := os.read(source, _CHUNK):
        with contextlib.suppress(OSError):
            os.write(2, data[:left])
        left = max(0, left - len(data))


def _pass_messages(source: int) -> None:
    line = bytearray()
    while data := os.read(source, _CHUNK):
        head, end, tail = data.rpartition(b"\n")
        if end:
            ready, line = mended(bytes(line) + head + end), bytearray(tail)
            with contextlib.suppress(OSError):
                while ready:
                    ready = ready[os.write(1, ready) :]
        else:
            line += data
        if len(line) > LINE_BYTES:
            _end(1, f"it sent a message of more than {LINE_BYTES >> 20} MB")


def _watch(
    child: "subprocess.Popen[bytes]", passing: "list[threading.Thread]", stopping: threading.Event
) -> None:
    status = child.wait()
    if stopping.is_set():
        return
    # Its last words come before the reason; a child of its own may hold the pipes open.
    for each in passing:
        each.join(GRACE_S)
    why = f"it exited with status {status}" if status >= 0 else f"it was ended by signal {-status}"
    _end(1, why)


def main(words: list[str]) -> None:
    """Run a program until it ends or our input does."""
    if os.getpgrp() != os.getpid():
        os.setsid()
    signal.signal(signal.SIGTERM, lambda *_: _end(0))
    stopping = threading.Event()
    try:
        child = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    except OSError as error:
        _end(1, f"it cannot be run: {error.strerror}")
        return
    assert child.stdin is not None
    assert child.stdout is not None
    assert child.stderr is not None
    passing = [
        threading.Thread(target=_pass_on, args=(child.stderr.fileno(),), daemon=True),
        threading.Thread(target=_pass_messages, args=(child.stdout.fileno(),), daemon=True),
    ]
    for each in passing:
        each.start()
    threading.Thread(target=_watch, args=(child, passing, stopping), daemon=True).start()
    target = child.stdin.fileno()
    while data := os.read(0, _CHUNK):
        # A server that has closed its own input is watched elsewhere.
        with contextlib.suppress(OSError):
            while data:
                data = data[os.write(target, data) :]
    stopping.set()
    child.stdin.close()
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(GRACE_S)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    with contextlib.suppress(OSError):
        os.killpg(os.getpgrp(), signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(GRACE_S)
    _end(0)


if __name__ == "__main__":
    main(sys.argv[1:])
