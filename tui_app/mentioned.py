"""Files that a text names: ``@path``, or ``@"a path"`` where the path holds spaces.

The screen, the command line and the offline model read them alike.
"""

import re

SIGN = r"""(?:^|(?<=[\s(\[{<'"`]))@"""
"""An ``@`` that begins a word; one inside a word belongs to an address."""
MENTION = re.compile(rf'{SIGN}(?:"([^"\n]+)"|([^\s"]+))', re.MULTILINE)
AFTER = ".,;:!?)]}>'`"
"""Signs behind a path that belong to the sentence."""


def mentions(text: str) -> tuple[str, ...]:
    """The paths that a prompt names, each once, in order."""
    found = (quoted or bare.rstrip(AFTER) for quoted, bare in MENTION.findall(text))
    return tuple(dict.fromkeys(path for path in found if path))
