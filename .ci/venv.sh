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
    echo "Setting up Plimsoll, once. This takes about a minute." >&2
    echo "Making $venv ..." >&2
    "$python" -I -m venv --clear "$venv"
  fi
  if [ ! -e "$stamp" ] || [ "$root/pyproject.toml" -nt "$stamp" ]; then
    echo "Installing Plimsoll$extras into $venv ..." >&2
    install_into "$venv" "$root$extras"
    touch "$stamp"
  fi
}

# install_into VENV CHECKOUT: by uv where it is there, else by pip, whose packages are counted.
install_into() {
  local venv="$1" checkout="$2" line count=0 began=$SECONDS status=0 said
  if command -v uv >/dev/null && uv pip install --quiet --python "$venv/bin/python" --editable "$checkout" >&2; then
    return
  fi
  said="$(mktemp)"
  while IFS= read -r line; do
    echo "$line" >>"$said"
    case "$line" in
      "Collecting "*) count=$((count + 1)); show_step "found $count packages" ;;
      "Installing collected packages"*) [ "$count" -eq 0 ] || show_step "unpacking $count packages" ;;
    esac
  done < <("$venv/bin/python" -I -m pip install --progress-bar off --no-color --editable "$checkout" 2>&1 || echo "failed: $?")
  [ ! -t 2 ] || printf '\r\033[K' >&2
  [[ "$(tail -n 1 "$said")" != "failed: "* ]] || status=1
  if [ "$status" -ne 0 ]; then
    grep -v '^Collecting\|^Requirement\|^failed: \|^  ' "$said" | tail -n 15 >&2
  else
    echo "Installed $count packages in $((SECONDS - began)) s." >&2
  fi
  rm -f "$said"
  return "$status"
}

# On a terminal one line that changes; elsewhere each kind of step is told once.
show_step() {
  if [ -t 2 ]; then printf '\r\033[K  %s' "$1" >&2; elif [[ "$1" == unpacking* ]]; then echo "  $1" >&2; fi
}
