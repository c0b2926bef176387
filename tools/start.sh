#!/usr/bin/env bash
# What "npm start" does: installs and builds what has changed since the last time, which needs no network when nothing has, and runs the
# server in the foreground with the options given.
set -euo pipefail
cd "$(dirname "$0")/.."

# Whatever has installed them: npm writes its own list of what is there last.
are_installed() {
  local list=node_modules/.package-lock.json
  [ $list -nt package-lock.json ] && [ $list -nt package.json ]
}

is_built() { [ "$(cat dist/.sources 2>/dev/null)" = "$(bash tools/sources.sh)" ]; }

if ! are_installed; then
  echo 'npm start: installing packages, which may take a minute' >&2
  npm install --no-audit --no-fund
  # npm leaves a list alone that is right.
  touch node_modules/.package-lock.json
fi
if ! is_built; then
  echo 'npm start: building' >&2
  npm run build
fi
export PATH="$PWD/node_modules/.bin:$PATH"
exec node dist/core/cli/srv.js "$@"
