"""What a repository goes by on every machine."""

import pytest

from tui_app.memory.scope import remote_of, shared_name


@pytest.mark.parametrize(
    "address",
    [
        "git@forge.example:ada/ferry.git",
        "forge.example:ada/ferry",
        "https://forge.example/ada/ferry.git",
        "https://ada:ghp_abcdefghijklmnopqrstuvwxyz0123456789@Forge.Example/ada/ferry/",
        "https://forge.example:443/ada/ferry",
        "ssh://git@forge.example:2222/ada/ferry.git",
        "git://forge.example/ada/ferry?x=1#y",
    ],
)
def test_every_way_to_write_it_is_one_name_without_who_fetches_it(address: str) -> None:
    assert shared_name(address) == "forge.example/ada/ferry"


@pytest.mark.parametrize(
    "address",
    [
        "", "/srv/git/ferry.git", "../ferry", "file:///srv/git/ferry.git", "C:\\git\\ferry", "C:/git/ferry",
        "https://localhost:3000/ada/ferry", "git@127.0.0.1:ada/ferry", "https://forge.example/",
        "https://forge.example:x/ada", "https://[::1]/ada/ferry", "https://forge.example/a\x1b[31m",
        "x" * 900, "https://forge.example/" + "x" * 900,
    ],
)  # fmt: skip
def test_what_no_other_machine_can_know_is_no_name(address: str) -> None:
    assert shared_name(address) == ""


def test_another_port_of_the_web_is_another_place() -> None:
    assert shared_name("http://forge.example:3000/ada/ferry") == "forge.example:3000/ada/ferry"


@pytest.mark.parametrize(
    ("config", "name"),
    [
        ('[remote "origin"]\n\turl = git@forge.example:ada/ferry.git\n', "forge.example/ada/ferry"),
        ('[Remote "origin"] URL="https://forge.example/ada/ferry" \n', "forge.example/ada/ferry"),
        ('[remote "up"]\nurl = git@a.example:x/y ; of old\n', "a.example/x/y"),
        ('[remote "up"]\nurl = git@a.example:x/y\n[remote "me"]\nurl = git@b.example:x/y\n', ""),
        (
            '[remote "up"]\nurl = git@a.example:x/y\n[remote "origin"]\nurl = git@b.example:x/y\n',
            "b.example/x/y",
        ),
        ("[core]\n\tbare = false\n", ""),
        ("url = git@a.example:x/y\n[remote]\n\x00garbage \ufffd[[", ""),
        ("", ""),
    ],
)
def test_it_is_origin_or_the_only_one(config: str, name: str) -> None:
    assert remote_of(config) == name
