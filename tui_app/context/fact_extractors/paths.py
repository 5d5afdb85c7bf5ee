"""Paths told short: ``…/`` stands for the folder most of them share; files of one folder stand below it."""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

SHORT = "…/"
_FEWEST = 3
"""Paths below which naming the folder costs more than it saves."""
_SHORTEST = 12
"""Characters of a folder below which there is nothing to save."""
_MOST_OF_THEM = 0.6
_STANDS_FOR = re.compile(r"(?m)^- …/ stands for (/[^\n]{1,400})/$")
_FOLDER = re.compile(r"- ([^\s`]{1,400}/)")


def common_root(paths: Iterable[str], fewest: int = _FEWEST) -> str:
    """The folder of most absolute paths that saves most when told short; empty when none is worth naming."""
    absolute = [path for path in paths if path.startswith("/")]
    if len(absolute) < fewest:
        return ""
    counts: Counter[str] = Counter()
    for path in absolute:
        place = path.find("/", 1)
        while place > 0:
            counts[path[:place]] += 1
            place = path.find("/", place + 1)
    wanted = max(fewest, _MOST_OF_THEM * len(absolute))
    fitting = [folder for folder, count in counts.items() if count >= wanted and len(folder) >= _SHORTEST]
    return max(fitting, key=lambda folder: (counts[folder] * len(folder), len(folder)), default="")


def root_line(root: str) -> str:
    """The sentence that says what ``…/`` stands for."""
    return f"{SHORT} stands for {root}/"


def root_in(summary: str) -> str:
    """The folder that ``…/`` stands for in a summary; empty when it names none."""
    match = _STANDS_FOR.search(summary)
    return match[1] if match else ""


def shortened(text: str, root: str) -> str:
    """A text with every path below the folder told short."""
    return text.replace(f"{root}/", SHORT) if root else text


def ending_of(path: str) -> str:
    """A path by its name and the folder above it: enough to know it by where its whole path stands nearby."""
    return "/".join(path.rsplit("/", 2)[-2:])


def folder_of(path: str) -> str:
    """The folder below which a path can stand, with its last slash; empty for one that must stand alone."""
    folder = path[: path.rfind("/") + 1]
    return folder if len(folder) > 1 and _FOLDER.fullmatch(f"- {folder}") else ""


@dataclass(slots=True)
class WholePaths:
    """Spells the paths of a summary out again, line by line."""

    root: str = ""
    folder: str = ""

    def line(self, line: str) -> str:
        """The line with whole paths; empty for one that only says how others are shortened."""
        if self.folder and line.startswith("  ") and not line[2:].startswith(" "):
            line = f"- {self.folder}{line[2:]}"
        elif named := root_in(line):
            self.root = named
            return ""
        elif match := _FOLDER.fullmatch(line):
            self.folder = match[1]
            return ""
        else:
            self.folder = ""
        return line.replace(SHORT, f"{self.root}/") if self.root else line


def whole_paths(summary: str) -> str:
    """A summary with every path spelt out."""
    paths = WholePaths()
    return "\n".join(map(paths.line, summary.splitlines()))
