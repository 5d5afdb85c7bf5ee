#!/usr/bin/env bash
# Builds the source archive and from it the wheel, installs that alone into a new environment, and uses it far from
# this checkout, offline.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
checks="$PWD/.ci"

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
.venv/bin/python -m build --outdir "$work/dist" >/dev/null
wheel="$(echo "$work"/dist/*.whl)"
.venv/bin/python "$checks/check_wheel.py" "$wheel" "$work"/dist/*.tar.gz

.venv/bin/python -m venv "$work/venv"
"$work/venv/bin/python" -m pip install --quiet --disable-pip-version-check --root-user-action=ignore "$wheel"

mkdir "$work/project"
cd "$work/project"
cat > README.md <<'TEXT'
# Ferry timetable

This project prints the timetable of the harbour ferry.
It reads the tides from tides.txt and leaves out sailings at low water.
TEXT
printf 'Low water on Sunday is at 09:40.\nHigh water on Sunday is at 15:50.\n' > tides.txt

# In a network namespace of its own the program cannot reach anything; elsewhere the test still runs.
offline=()
if unshare -rn true 2>/dev/null; then offline=(unshare -rn); fi
run() { env -i PATH="$PATH" HOME="$work" PLIMSOLL_HOME="$work/home" LANG=C.UTF-8 "${offline[@]}" "$@"; }

run "$work/venv/bin/plimsoll" --version
run "$work/venv/bin/python" -m tui_app --version
run "$work/venv/bin/plimsoll" run "what does this project do?" --model offline:extractive --json \
  > "$work/events.jsonl"
"$work/venv/bin/python" "$checks/check_run.py" "$work/events.jsonl" "$work/project"

# The oldest pydantic-ai that is supported, which is the one that pydantic-ai-harness asks for, and both together.
"$work/venv/bin/python" -m pip install --quiet --disable-pip-version-check --root-user-action=ignore \
  "$wheel" pydantic-ai-harness
cp "$checks"/../docs/examples/*.py .
run "$work/venv/bin/python" beside_harness.py
run "$work/venv/bin/python" harbour_agent.py
echo "Which ferries leave on day 1?" | run "$work/venv/bin/python" chat_loop.py
run "$work/venv/bin/plimsoll" run "when is low water?" --model offline:extractive
