#!/usr/bin/env bash
# What "npm test" does once the packages are installed: builds, lints, and runs every test. Its last lines name what could not be tested
# here, and the very last one is "N passed, N failed, N skipped".
# With arguments it runs these test files only: tools/test.sh dist/test/cli/*.test.js
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
export PATH="$PWD/node_modules/.bin:$PATH"

# Programs that some tests talk to or compare with, each with the Debian package that has it. Tests that lack theirs are skipped.
programs=(redis-server:redis-server nginx:nginx-light haproxy:haproxy wrk:wrk)

missing_packages() {
  local entry
  for entry in "${programs[@]}"; do
    PATH="$PATH:/usr/sbin:/sbin" command -v "${entry%%:*}" >/dev/null || echo "${entry##*:}"
  done
}

install_missing() {
  local packages
  mapfile -t packages < <(missing_packages)
  [ ${#packages[@]} -gt 0 ] && [ "$(id -u)" = 0 ] && [ -f /etc/debian_version ] || return 0
  echo "installing from Debian's packages, for the tests: ${packages[*]}"
  # RUNLEVEL=1: nothing that a package brings is started.
  { apt-get update -q && RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${packages[@]}"; } >/dev/null 2>&1 ||
    echo "they could not be installed: tests that need them are skipped"
}

# Whatever fails here, the tests still run: one run tells everything.
broken=()
step() {
  echo "== $1"
  "${@:2}" || broken+=("$1")
}

install_missing
rm -rf dist
step 'build and type-check' tsc -p tsconfig.json
step 'bundle' node dist/tools/bundle.js
step 'lint' oxlint --type-aware
step 'format' oxfmt --check

echo '== tests'
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# One test after the other: most wait for servers, and what is measured in time is not to wait for others.
ava --serial "$@" 2>&1 | tee "$log"
status=${PIPESTATUS[0]}

count() { grep -cE "$1" "$log"; }
passed=$(count '^ +✔ ')
failed=$(count '^ +✘ \[fail\]')
skipped=$(count '^ +- \[skip\]')
# A file that cannot be loaded, an error outside of a test: ava fails without a failed test.
[ "$status" = 0 ] || [ "$failed" -gt 0 ] || failed=1
failed=$((failed + ${#broken[@]}))

if [ "$skipped" -gt 0 ]; then
  echo
  echo "!! SKIPPED, because something they need is not installed here:"
  grep -E '^ +- \[skip\]' "$log" | sed -E 's/^ +- \[skip\]:? */!!   /'
fi
for name in "${broken[@]}"; do
  echo
  echo "!! FAILED: $name, see above"
done
echo
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
