"""Checks the events of an offline run: ``check_run.py EVENTS.jsonl FOLDER``.

The answer must quote lines that really stand in the folder's files, as ``path:line``.
"""

import json
import re
import sys
from pathlib import Path

EXPECTED = ("user.message", "tool.call", "tool.result", "assistant.message")


def problems(events: Path, folder: Path) -> list[str]:
    """What the run did not do."""
    records = [json.loads(line) for line in events.read_text().splitlines() if line]
    kinds = [record["type"] for record in records]
    found = [f"no {kind} event" for kind in EXPECTED if kind not in kinds]
    texts = [record["data"]["text"] for record in records if record["type"] == "assistant.message"]
    answer = texts[-1] if texts else ""
    quoted = [
        (name, int(number))
        for name, number in re.findall(r"([\w./-]+\.\w+):(\d+)", answer)
        if (folder / name).is_file()
    ]
    if not quoted:
        found.append(f"the answer names no line of a file: {answer!r}")
    for name, number in quoted:
        lines = (folder / name).read_text().splitlines()
        words = lines[number - 1].strip("# ") if 0 < number <= len(lines) else ""
        if not words or words not in answer:
            found.append(f"{name}:{number} is not quoted as it stands there")
    return found


if __name__ == "__main__":
    if wrong := problems(Path(sys.argv[1]), Path(sys.argv[2])):
        sys.exit("\n".join(wrong))
    print("offline run: answered from the files")
