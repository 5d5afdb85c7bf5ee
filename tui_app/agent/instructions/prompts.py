"""What models are told by the program itself, by the texts beside this file."""

import tomllib
from collections.abc import Mapping
from pathlib import Path

PROMPTS: Mapping[str, str] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
