"""A program that kills a process group when its starter is gone; standard library only.

``python -I -S process_guard.py GROUP``. The starter of the group holds the other end of our standard input,
and ends us before the group's number can be reused. If the starter is killed, the input ends.
"""

import contextlib
import os
import signal
import sys


def main(group: int) -> None:
    """Wait for the end of standard input, then kill a group.

    Args:
        group: Its number.
    """
    while os.read(0, 1):
        pass
    with contextlib.suppress(OSError):
        os.killpg(group, signal.SIGKILL)


if __name__ == "__main__":
    main(int(sys.argv[1]))
