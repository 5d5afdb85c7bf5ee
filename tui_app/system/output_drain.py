"""A program that reads the output of a command that outlives its session; standard library only.

``python -I -S output_drain.py FILE BYTES``. Without a reader the command would fail at its next output. The
file is emptied each time it is full.
"""

import os
import select
import sys


def main(path: str, most: int) -> None:
    """Write standard input to a file of bounded size until it ends.

    Args:
        path: The file.
        most: Maximum bytes of the file.
    """
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    size = 0
    while True:
        # The pipe is non-blocking, because an event loop used it.
        select.select([0], [], [])
        try:
            data = os.read(0, 1 << 16)
        except BlockingIOError:
            continue
        if not data:
            return
        if size + len(data) > most:
            os.ftruncate(file, 0)
            os.lseek(file, 0, os.SEEK_SET)
            size = 0
        try:
            os.write(file, data)
        except OSError:
            continue  # the disk is full, but reading continues
        size += len(data)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
