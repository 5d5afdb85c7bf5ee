"""Copying is confirmed only if something keeps the text, and the text is really there."""

from pathlib import Path

import pytest

from tui_app.ui.clipboard import NO_PICTURE, NO_READER, keep, outcome_text, read_picture

TEXT = "all:\n\tcc -o app main.c  # 日本語"


def programs(folder: Path, **bodies: str) -> str:
    """Create a PATH with our own programs."""
    for name, body in bodies.items():
        file = folder / name.replace("_", "-")
        file.write_text(f"#!/bin/sh\n{body}\n")
        file.chmod(0o700)
    return f"{folder}:/usr/bin:/bin"


@pytest.mark.parametrize(
    ("env", "program"),
    [
        ({"TMUX": "/tmp/tmux,1,0"}, "tmux"),
        ({"WAYLAND_DISPLAY": "wayland-1"}, "wl_copy"),
        ({"DISPLAY": ":0"}, "xsel"),
        ({"DISPLAY": ":0", "VTE_VERSION": "7600"}, "xclip"),
    ],
)
def test_a_program_beside_the_terminal_keeps_it(tmp_path: Path, env: dict[str, str], program: str) -> None:
    path = programs(tmp_path, **{program: f"cat > {tmp_path}/kept"})
    assert keep(TEXT, {**env, "PATH": path.split(":")[0] + ":/bin"}) == "copied"
    assert (tmp_path / "kept").read_text() == TEXT


def test_a_tmux_of_before_keeps_it_too(tmp_path: Path) -> None:
    path = programs(tmp_path, tmux=f'test "$2" = "-w" && exit 1; cat > {tmp_path}/kept')
    assert keep(TEXT, {"TMUX": "x", "PATH": path}) == "copied"
    assert (tmp_path / "kept").read_text() == TEXT


@pytest.mark.parametrize(
    ("env", "outcome"),
    [
        ({"TERM": "xterm-256color"}, "sent"),
        ({"TERM": "xterm-256color", "VTE_VERSION": "7600"}, "refused"),
        ({"TERM": "screen", "STY": "1.tty"}, "refused"),
        ({"TERM_PROGRAM": "Apple_Terminal", "SSH_CONNECTION": "x"}, "refused"),
        ({"TMUX": "x"}, "refused"),
        ({"DISPLAY": ":0"}, "sent"),
    ],
)
def test_nothing_is_claimed(tmp_path: Path, env: dict[str, str], outcome: str) -> None:
    path = programs(tmp_path, tmux="exit 1", xclip="exit 1", xsel="exit 1")
    found = keep(TEXT, {**env, "PATH": path})
    assert found == outcome
    assert not outcome_text(found, "2 lines").startswith("Copied")


PNG = b"\x89PNG\r\n\x1a\n\0\1"


@pytest.mark.parametrize(
    ("env", "program", "asked"),
    [
        ({"WAYLAND_DISPLAY": "wayland-1"}, "wl_paste", "--no-newline --type image/png"),
        ({"DISPLAY": ":0"}, "xclip", "-selection clipboard -target image/png -out"),
    ],
)
def test_a_picture_is_read_from_what_keeps_the_clipboard(
    tmp_path: Path, env: dict[str, str], program: str, asked: str
) -> None:
    (tmp_path / "shot").write_bytes(PNG)
    path = programs(tmp_path, **{program: f'test "$*" = "{asked}" && cat {tmp_path}/shot'})
    assert read_picture({**env, "PATH": path}) == PNG
    (tmp_path / "shot").write_bytes(b"words")
    assert read_picture({**env, "PATH": path}) == NO_PICTURE
    assert read_picture({"PATH": path}) == NO_READER
