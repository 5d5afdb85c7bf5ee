"""Commands that run in a folder, whether they go there or are told so."""

import re

from tui_app.context.fact_extractors.shell import normal_command, plainly

_CD = re.compile(r"^\s{0,20}(?:cd|pushd)\s{1,4}([^\s;&|]{1,300})\s{0,4}(?:&&|;)")
_OPTION = re.compile(r"\s(?:--prefix|--cwd|--dir|-C|--directory)(?:=|\s{1,4})([^\s;&|]{1,300})(?=\s|$)")
_WITH_OPTION = re.compile(r"^(?:npm|pnpm|yarn|bun|make|gmake|ninja|git|uv|poetry|go|just)\s")


def same_in_folder(one: str, other: str) -> bool:
    """Whether two command lines run the same in the same folder, which both of them name."""
    (first, here), (second, there) = _placed(one), _placed(other)
    return bool(here and there) and first == second and _same_folder(here, there)


def _placed(command: str) -> tuple[str, str]:
    """The command without its folder, and that folder; empty where none or more than one is named."""
    going = _CD.match(command)
    text = normal_command(command)
    if not _WITH_OPTION.match(text):
        return plainly(text), going[1] if going else ""
    options = _OPTION.findall(text)
    named = [*options, *([going[1]] if going else [])]
    return plainly(_OPTION.sub("", text)), named[0] if len(named) == 1 else ""


def _same_folder(one: str, other: str) -> bool:
    first, second = (path.strip("\"'").removeprefix("./").rstrip("/") for path in (one, other))
    return first == second or first.endswith(f"/{second}") or second.endswith(f"/{first}")
