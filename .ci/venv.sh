# Sourced by the launchers: finds a Python, makes .venv, installs this checkout into it when needed.
# With -I: the launchers run in folders that somebody else wrote, whose venv.py or pip.py is not meant.
# Installs are editable, so a later pull or edit counts at once; only pyproject.toml asks for a new install.

export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore

find_python() {
  local candidate
  for candidate in python3.13 python3.12 python3.11 python3; do
    # Run it: a name on the PATH may be a shim for a version that is not there.
    if "$candidate" -I -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      echo "$candidate"
      return
    fi
  done
  echo "Plimsoll needs Python 3.11 or newer, with its venv module (Debian: apt-get install python3-venv)." >&2
  return 1
}

# ensure_venv ROOT EXTRAS: EXTRAS is empty, or a list such as "[test]". Each set of extras has its own stamp.
ensure_venv() {
  local root="$1" extras="$2" venv="$1/.venv" python stamp
  stamp="$venv/.installed${extras//[^a-z]/-}"
  if ! "$venv/bin/python" -I -c '' 2>/dev/null; then
    python="$(find_python)"
    echo "Making $venv ..." >&2
    "$python" -I -m venv --clear "$venv"
  fi
  if [ ! -e "$stamp" ] || [ "$root/pyproject.toml" -nt "$stamp" ]; then
    echo "Installing Plimsoll$extras into $venv ..." >&2
    "$venv/bin/python" -I -m pip install --quiet --editable "$root$extras" >&2
    touch "$stamp"
  fi
}
