"""Checks that wheel and source archive hold all they need, and no more: ``check_wheel.py WHEEL SDIST``."""

import hashlib
import re
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
DATA = "tui_app/context/data/"
LICENCES = ("LICENSE", f"{DATA}LICENSE-tiktoken-ranks")
MANUAL = ("README.md", "CHANGELOG.md", "LICENSE", "pyproject.toml", "PKG-INFO", ".gitignore", "docs/")
"""What the source archive has beside the program."""


def sources() -> set[str]:
    """Every file of the program as it is here: code, tables, styles, ``py.typed``."""
    found = (path for path in (ROOT / "tui_app").rglob("*") if path.is_file())
    return {path.relative_to(ROOT).as_posix() for path in found if "__pycache__" not in path.parts}


def version() -> str:
    (found,) = re.findall(r'__version__ = "(.+)"', (ROOT / "tui_app/version.py").read_text("utf-8"))
    return str(found)


def wheel_problems(wheel: str) -> Iterator[str]:
    """What is missing from the wheel, strays into it, or differs from its checksum."""
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if not name.endswith("/")}
        info = f"plimsoll_tui-{version()}.dist-info/"
        yield from (f"{name} is missing" for name in sorted(sources() - names))
        yield from (
            f"{info}licenses/{name} is missing" for name in LICENCES if f"{info}licenses/{name}" not in names
        )
        yield from (
            f"{name} does not belong in it" for name in sorted(names - sources()) if not name.startswith(info)
        )
        for line in archive.read(f"{DATA}SHA256SUMS").decode().splitlines():
            digest, _, name = line.partition(" ")
            if hashlib.sha256(archive.read(DATA + name.strip(" *"))).hexdigest() != digest:
                yield f"{name.strip()} differs from its checksum"


def sdist_problems(sdist: str) -> Iterator[str]:
    """The same of the source archive: the program with its manual, and no tests with their data."""
    with tarfile.open(sdist) as archive:
        names = {each.name.partition("/")[2] for each in archive.getmembers() if each.isfile()}
    yield from (f"{name} is missing" for name in sorted({*sources(), *LICENCES} - names))
    yield from (
        f"{name} does not belong in it" for name in sorted(names - sources()) if not name.startswith(MANUAL)
    )


if __name__ == "__main__":
    wheel, sdist = sys.argv[1:]
    if wrong := [*wheel_problems(wheel), *sdist_problems(sdist)]:
        sys.exit("\n".join(wrong))
    print(f"{Path(wheel).name} and {Path(sdist).name}: complete, and nothing else")
