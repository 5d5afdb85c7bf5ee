#!/usr/bin/env bash
# What the tests need from Debian: tmux for terminal tests, node and npm for aimock, Chromium for
# the served screen. Installs what is missing.
set -euo pipefail

missing=()
command -v tmux >/dev/null || missing+=(tmux)
command -v node >/dev/null || missing+=(nodejs)
command -v npm >/dev/null || missing+=(npm)
command -v unshare >/dev/null || missing+=(util-linux)
command -v chromium >/dev/null || missing+=(chromium)
if [ ${#missing[@]} -gt 0 ]; then
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"
fi
