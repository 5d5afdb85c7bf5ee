"""Readers for documentation pages: sections, code, links, and the program's own help."""

import argparse
import importlib.util
import re
from functools import cache
from pathlib import Path
from types import ModuleType

from tui_app.cli.program import load_command

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)|(?:src|href)=\"([^\"]+)\"")


@cache
def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def page(name: str) -> str:
    return read(ROOT / name)


def prose(text: str) -> str:
    return FENCE.sub("", text)


def section(text: str, heading: str) -> str:
    """A section with its heading, up to the next heading of the same or a higher level."""
    start = re.search(rf"^(#+) {re.escape(heading)}$", text, re.MULTILINE)
    assert start, f"no chapter {heading!r}"
    rest = text[start.end() :]
    level = len(start[1])
    end = re.search(rf"^#{{1,{level}}} ", rest, re.MULTILINE)
    return rest[: end.start()] if end else rest


def anchors(text: str) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", prose(text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def code_blocks(text: str, language: str) -> list[str]:
    return [body for name, body in FENCE.findall(text) if name == language]


def load_script(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"docs_{path.stem}", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def options_of(parser: argparse.ArgumentParser) -> set[str]:
    return set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", parser.format_help())) - {"--help"}


def command_parser(name: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=name)
    load_command(name).configure(parser)
    return parser


def code_of(text: str) -> list[str]:
    return [*re.findall(r"`([^`\n]+)`", prose(text)), *code_blocks(text, "sh")]
