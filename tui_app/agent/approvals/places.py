"""Places in a project that programs run or obey without being told to: changes there are asked about."""

import re
import sys
import unicodedata
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

from tui_app.text import UNSEEN

# Judged by the kind of place first: what begins with a dot, configuration in the root, installed packages.
# Names are listed only where a kind does not tell. All in lower case, as some file systems see them.

_PLAIN_DOTS = (".gitkeep", ".keep", ".*ignore")
"""Names with a dot that only say which files to leave alone."""
_IN_ROOT = (
    "*.toml", "*.ini", "*.cfg", "*.conf", "*.json", "*.jsonc", "*.json5", "*.yml", "*.yaml", "*.xml",
    "*.properties", "*.lock", "tasks.py", "dodo.py",
)  # fmt: skip
"""What stands in the root of a project is read by its tools; deeper it is mostly data."""
_ANYWHERE = (
    # Build files, which run code: of one word such as Makefile, of the language, of what is included.
    "*file", "makefile.*", "dockerfile.*", "gulpfile.*", "gruntfile.*", "*.mk", "*.mak", "*.cmake",
    "*.gradle", "*.gradle.kts", "*.bzl", "*.bazel", "*.ninja", "meson.build",
    "cmakelists.txt", "configure", "configure.ac", "*.m4", "sconstruct", "sconscript", "wscript", "build.rs",
    "build.zig", "build.xml", "build.sc", "pom.xml", "*.sbt", "mix.exs", "*.nix", "*.gemspec", "*.podspec",
    "*.cabal", "package.swift", "xmake.lua", "premake5.lua", "*.pro", "*.props", "*.targets", "*.csproj",
    "*.fsproj", "*.vbproj", "*.vcxproj", "*.sln", "dune", "dune-project", "project.clj", "deps.edn",
    "rebar.config", "taskfile.*", "*.rake", "config.ru", "stack.yaml", "gradle.properties", "mise.toml",
    "mise.*.toml", "ansible.cfg", "action.y*ml", "*-pipelines.y*ml", "lefthook*.y*ml", "wrangler.toml",
    "devcontainer.json",
    # Manifests of packages within a project, and what picks the tools.
    "package.json", "composer.json", "deno.json", "deno.jsonc", "cargo.toml", "pyproject.toml", "setup.py",
    "setup.cfg", "go.mod", "go.work", "rust-toolchain", "gradle-wrapper.*", "*-lock.json", "*compose*.y*ml",
    # Configuration that is code.
    "*.config.*s", "*.conf.*s", "*.setup.*s", "*.workspace.*s", "*.config.json", "bunfig.toml",
    "nodemon.json", "lerna.json", "nx.json", "project.json",
    # Python: what the interpreter and the test runner import by themselves.
    "conftest.py", "noxfile.py", "fabfile.py", "sitecustomize.py", "usercustomize.py", "tox.ini",
    "pytest.ini", "pytest.toml", "tox.toml", "hatch.toml", "hatch_build.py", "pylintrc*",
    "*.pth", "*.pyc", "pyvenv.cfg", "*.egg-link",
    # Editors and desktops.
    "*.code-workspace", "*.sublime-project", "*.iml", "*.desktop",
    # Instructions and skills for agents.
    "agent.md", "agents.md", "agents.*.md", "claude.md", "claude.*.md", "gemini.md", "qwen.md", "crush.md",
    "warp.md", "copilot-instructions.md", "skill.md",
)  # fmt: skip
_CAPITALS = frozenset({"BUILD", "WORKSPACE", "HEAD"})
"""Of Bazel, and of a bare repository, which git finds wherever it stands; in small letters mere words."""
_FOLDERS = frozenset(
    {
        "node_modules", "bower_components", "vendor", "site-packages", "dist-packages", "venv",
        "virtualenv", "__pycache__", "__pypackages__", "githooks", "git-hooks",
    }
)  # fmt: skip
_FOLDER_ENDS = (".xcodeproj", ".xcworkspace", ".egg-info", ".dist-info", ".git")
_SHORT_NAME = re.compile(r"~\d")
"""As in ``GIT~1``, another name of a file with a dot."""
_MODULES = frozenset(map(str.lower, sys.stdlib_module_names)) | {
    "pytest", "pip", "coverage", "mypy", "black", "flake8", "tox", "nox", "build", "setuptools",
}  # fmt: skip
"""``python -m`` in a project takes a file of that name in its root for the module."""


def obeyed(path: str) -> str:
    """The part of a path because of which programs run or obey what is written there; empty without one.

    Args:
        path: Relative to the project, links followed.
    """
    parts = PurePosixPath(path).parts
    plain = [_plain(part) for part in parts]
    if len(parts) > 1 and parts[-1] in _CAPITALS:
        return parts[-1]
    return next((part for at, part in enumerate(parts) if _is_obeyed(plain, at)), "")


def _plain(part: str) -> str:
    """A name as a file system may read it: without signs that are not seen, dots and blanks at its end."""
    signs = unicodedata.normalize("NFKC", part)
    shown = "".join(sign for sign in signs if unicodedata.category(sign) != "Cf" and not UNSEEN.match(sign))
    return (shown.rstrip(". ") or shown).casefold()


def _is_obeyed(parts: Sequence[str], at: int) -> bool:
    part, is_last = parts[at], at == len(parts) - 1
    if part.startswith(".") and part.strip("."):
        return not _fits(part, _PLAIN_DOTS)
    if part in _FOLDERS or part.endswith(_FOLDER_ENDS) or _SHORT_NAME.search(part):
        return True
    if not at and (part == "hooks" or (is_last and _fits(part, _IN_ROOT))):
        return True
    if "/".join(parts) in {f"{part.removesuffix('.py')}{end}" for end in (".py", "/__init__.py")}:
        return part.removesuffix(".py") in _MODULES or _fits(part, _ANYWHERE)
    return is_last and _fits(part, _ANYWHERE)


def _fits(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
