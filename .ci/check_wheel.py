"""Checks that a wheel holds all it needs: ``check_wheel.py WHEEL``."""

import hashlib
import sys
import zipfile

DATA = "tui_app/context/data/"
NEEDED = ("o200k_base.tiktoken", "cl100k_base.tiktoken", "LICENSE-tiktoken-ranks", "SHA256SUMS")

PACKAGE_FILES = (
    *("demo/data/project.json", "demo/data/session.jsonl"),
    *(
        "agent/approvals/programs.toml",
        "agent/approvals/reach.toml",
        "obeyed_places.toml",
        "environment.toml",
        "cli/outputs.json",
    ),
)


def problems(wheel: str) -> list[str]:
    """What is missing from the wheel, strays into it, or differs from its checksum."""
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        found = [f"{DATA}{name} is missing" for name in NEEDED if DATA + name not in names]
        found += [f"tui_app/{name} is missing" for name in PACKAGE_FILES if f"tui_app/{name}" not in names]
        found += [f"{name} does not belong in it" for name in names if name.startswith(("tests/", "docs/"))]
        if not any(name.endswith(".tcss") for name in names):
            found.append("no style sheet is in it")
        if found:
            return found
        for line in archive.read(f"{DATA}SHA256SUMS").decode().splitlines():
            digest, _, name = line.partition(" ")
            if hashlib.sha256(archive.read(DATA + name.strip(" *"))).hexdigest() != digest:
                found.append(f"{name.strip()} differs from its checksum")
    return found


if __name__ == "__main__":
    if wrong := problems(sys.argv[1]):
        sys.exit("\n".join(wrong))
    print(f"{sys.argv[1].rpartition('/')[2]}: complete")
