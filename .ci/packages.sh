#!/usr/bin/env bash
# What the tests need from Debian: tmux for terminal tests, bubblewrap for the sandbox, node and npm for
# aimock, Chromium for the served screen, a PostgreSQL server for shared sessions. Installs what is missing.
set -euo pipefail

missing=()
command -v tmux >/dev/null || missing+=(tmux)
command -v bwrap >/dev/null || missing+=(bubblewrap)
command -v node >/dev/null || missing+=(nodejs)
command -v npm >/dev/null || missing+=(npm)
command -v unshare >/dev/null || missing+=(util-linux)
command -v chromium >/dev/null || missing+=(chromium)
compgen -G "/usr/lib/postgresql/*/bin/postgres" >/dev/null || missing+=(postgresql)
if [ ${#missing[@]} -gt 0 ]; then
  apt-get update -qq
  # The tests start a cluster of their own; Debian's need not run.
  mkdir -p /etc/postgresql-common
  [ -e /etc/postgresql-common/createcluster.conf ] ||
    echo "create_main_cluster = false" >/etc/postgresql-common/createcluster.conf
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"
fi
