"""No command escapes its folders, or makes ours escape them, by replacing their content with links.

``PLIMSOLL_TRIES=2000`` tries more often than a suite has time for.
"""

import os
import random
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest

from tests.agent.tools.test_sandbox import KINDS, LANDLOCK, kept_in, lab, linux, run
from tests.process_ends import LIMIT_S
from tui_app import autorun, sandbox
from tui_app.agent.tools.made_places import remove_unapproved
from tui_app.sandbox import Confinement
from tui_app.system.descriptors import first_link, open_named, remove_named, stat_named

__all__ = ["lab"]
TRIES = int(os.environ.get("PLIMSOLL_TRIES", "15"))
EXCHANGE = """
import ctypes, os, random, sys, time
libc, numbers = ctypes.CDLL(None), random.Random(int(sys.argv[1]))
pairs = [each.split("=") for each in sys.argv[2:]]
print("ready", flush=True)
while os.getppid() == int(os.environ["PARENT"]):
    for one, other in pairs:
        if numbers.random() < 0.5:
            libc.renameat2(-100, one.encode(), -100, other.encode(), 2)
    time.sleep(numbers.choice((0, 0, 0.0005, 0.002, 0.01, 0.03)))
"""
PAIRS = {
    "m": "m.link", "m/.git": "m/git.link", "m/.git/info": "m/info.link", ".git/info": ".git/info.link",
    "sub": "sub.link", "sub/deep": "sub/deep.link", ".husky": "husky.link", ".git/modules/lib": "lib.link",
}  # fmt: skip
"""Folders, and the links that replace them."""
LINE = """
for folder in . m m/.git m/.git/hooks m/.git/info .git/info sub sub/deep .husky lib.link m.link sub.link; do
  mkdir -p $folder/.vscode; rm -f $folder/.bashrc
  for name in .bashrc .vscode/tasks.json attributes config commondir hooks/pre-commit written; do
    echo evil > $folder/$name
  done
done 2> /dev/null
cat {outside}/secret
"""


def told(folder: Path) -> dict[str, str]:
    """Return everything in a folder, with modes and contents."""
    found = {}
    for path in sorted(folder.rglob("*")):
        found[str(path)] = f"{path.lstat().st_mode} {path.read_text() if path.is_file() else ''}"
    return found


@pytest.fixture
def outside(lab: Path) -> Path:
    work, outside = lab / "work", lab / "outside"
    for folder in (outside, outside / "info", outside / "deep", work, work / "m"):
        for name in (".git/hooks", ".git/objects", ".git/refs", ".git/info", ".vscode", "hooks", "info"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        for name in ("HEAD", ".git/HEAD", ".bashrc", "attributes", "config", "info/attributes", "secret"):
            (folder / name).write_text("mine, a secret\n")
    for one, other in PAIRS.items():
        (work / one).mkdir(parents=True, exist_ok=True)
        (work / other).symlink_to(random.Random(one).choice((str(outside), "../outside", "../../outside")))
    return outside


@pytest.fixture
def exchanged(lab: Path, outside: Path) -> Iterator[None]:
    """Keep replacing folders by outward links, without a pause."""
    words = [sys.executable, "-c", EXCHANGE, "1", *(f"{one}={other}" for one, other in PAIRS.items())]
    env = {"PARENT": str(os.getpid())}
    with subprocess.Popen(words, cwd=lab / "work", env=env, stdout=subprocess.PIPE) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == b"ready\n"
        yield
        running.kill()


@linux
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.usefixtures("exchanged")
def test_no_exchanged_folder_leads_out_whatever_the_moment(lab: Path, outside: Path, kind: str) -> None:
    found = LANDLOCK if kind == "landlock" else sandbox.find_sandbox()
    before, kept = told(outside), kept_in(lab, found)
    for number in range(TRIES):
        inside = kept.found()
        # Landlock does not hide what others wrote.
        said = run(inside, LINE.format(outside=outside if kind == "bubblewrap" else "."))
        assert "a secret" not in said.stdout or kind == "landlock", f"try {number}"
        remove_unapproved(inside)
        assert told(outside) == before, f"try {number}"
    assert inside.autorun().is_whole


@linux
@pytest.mark.usefixtures("exchanged")
def test_what_is_looked_at_and_removed_is_never_behind_a_link(lab: Path, outside: Path) -> None:
    work, before = lab / "work", told(outside)
    for _ in range(TRIES * 20):
        for name in ("m/.git/config", "m/.bashrc", "sub/deep/.vscode", ".git/info/attributes", "sub/.bashrc"):
            path = work / name
            with suppress(OSError):
                os.close(open_named(path, os.O_WRONLY | os.O_CREAT))
            with suppress(OSError):
                assert stat_named(path).st_ino not in inodes(outside)
            with suppress(OSError):
                remove_named(first_link(path, work) or path)
                (work / "m").mkdir(exist_ok=True)
    assert told(outside) == before


def inodes(folder: Path) -> set[int]:
    return {path.lstat().st_ino for path in folder.rglob("*")}


def test_a_link_that_a_command_puts_into_the_way_is_what_is_removed(lab: Path, outside: Path) -> None:
    work = lab / "work"
    (work / "way").symlink_to(outside)
    assert first_link(work / "way/info/attributes", work) == str(work / "way")
    with pytest.raises(NotADirectoryError):
        autorun.put_back(work / "way/info/attributes", b"x")
    assert (outside / "info/attributes").read_text() == "mine, a secret\n"
    remove_named(work / "way")
    assert outside.is_dir()


@pytest.mark.bubblewrap
def test_no_link_in_the_folder_says_what_is_bound(lab: Path) -> None:
    (lab / "home/private/bin").mkdir(parents=True)
    (lab / "home/private/bin/plan").write_text("a secret\n")
    (lab / "work/tools").mkdir()
    (lab / "work/tools/link").symlink_to(lab / "home/private/bin/plan")
    kept = kept_in(lab, sandbox.find_sandbox())
    led = Confinement(
        workspace=kept.workspace, home=kept.home, search=f"{kept.workspace}/tools:{kept.search}",
        sandbox=kept.sandbox, temporary=kept.temporary,
    )  # fmt: skip
    assert "a secret" not in run(led, "cat ~/private/bin/plan tools/link").stdout


UNIX = "import socket; s = socket.socket(socket.AF_UNIX); s.connect({!r}); print(s.recv(99))"
PAIR = (
    "import socket; one, _ = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM);"
    " one.sendto(b'x', {!r}); print('sent')"
)
VSOCK = "import socket; socket.socket(40, socket.SOCK_STREAM); print('open')"
RAW = (
    "import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', 9)); print(1)"
)
RING = (
    "import ctypes; made = ctypes.CDLL(None).syscall(425, 1, ctypes.create_string_buffer(120));"
    " print('ring' if made > 0 else '')"
)
TYPED = (
    "import fcntl, pty, os\nmain, other = pty.openpty()\n"
    "for code in (0x5412, 0x541c, 0xffffffff00005412):\n"
    "    try: fcntl.ioctl(other, code & 0xffffffff, b'x'); print('typed')\n"
    "    except PermissionError: pass\n"
)


@linux
@pytest.mark.parametrize("kind", KINDS)
def test_no_socket_of_another_program_is_reached(lab: Path, kind: str) -> None:
    found = LANDLOCK if kind == "landlock" else sandbox.find_sandbox()
    kept, path = kept_in(lab, found), str(lab / "work/s")
    with closing(socket.socket(socket.AF_UNIX)) as server:
        server.bind(path)
        server.listen()
        server.settimeout(LIMIT_S)
        for code in (UNIX.format(path), PAIR.format(path), VSOCK, RING, TYPED):
            said = run(kept, f'{sys.executable} - <<"END"\n{code}\nEND\n')
            assert said.stdout.strip() == "", code
        if kind == "landlock":
            assert run(kept, f'{sys.executable} - <<"END"\n{RAW}\nEND\n').stdout == ""
        # Programs can still talk to their own children.
        asked = "import asyncio; print(asyncio.run(asyncio.sleep(0, 'own loop')))"
        assert run(kept, f'{sys.executable} -c "{asked}"').stdout == "own loop\n"
