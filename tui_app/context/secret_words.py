"""What names a secret, what only stands for one, and what looks like one."""

import math
import re
from collections import Counter

MASK = "[secret removed]"
"""What stands in place of a secret: free of quotes and backslashes, so JSON around it stays whole."""
PASSWORDS = r"pass(?:word|wd|phrase)|kennwort|passwort|contraseña|mot de passe"
NAMES = (
    rf"(?:{PASSWORDS}|secret(?:[_-]?(?:access[_-]?)?key(?:[_-]?base)?)?|api[_-]?key|private[_-]?key|credentials?"
    r"|(?:access|auth|refresh|session|id)[_-]?token|client[_-]?secret)"
)
"""Names whose values are secrets, as a pattern."""
PLACEHOLDER = re.compile(
    r"\{\{|[$<%/~]|(?:[A-Z]+_)+[A-Z]+$|(?i:(?:none|null|true|false|undefined)$|xxx|\*\*\*|\.\.\.|your|example)"
)
"""Values that stand for a secret and are none: templates, variables and their names, paths, dummies."""


def looks_random(value: str) -> bool:
    """Whether a value is long and mixed enough to be a generated one and not a word, a path or a name."""
    if len(value) < 12 or not any(char.isdigit() for char in value) or value.count("/") > 2:
        return False
    sample = value[:200]
    total = len(sample)
    entropy = -sum(n / total * math.log2(n / total) for n in Counter(sample).values())
    return entropy >= 3.0
