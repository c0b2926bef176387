#!/usr/bin/env bash
# What "npm test" does once the packages are installed: builds, lints, and runs every test. Its last lines name what could not be tested
# here, and the very last one is "N passed, N failed, N skipped".
# With arguments it runs these test files only: tools/test.sh dist/test/cli/*.test.js
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
export PATH="$PWD/node_modules/.bin:$PATH"

# Programs that some tests talk to or compare with, each with the Debian package that has it. Tests that lack theirs are skipped.
programs=(redis-server:redis-server nginx:nginx-light haproxy:haproxy wrk:wrk mosquitto_sub:mosquitto-clients mypy:mypy)

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

# A folder in memory with room for what the tests write, if there is one.
in_memory() {
  local room
  room=$(df --output=avail -B 1M /dev/shm 2>/dev/null | tail -1)
  [ -w /dev/shm ] && [ "${room:-0}" -ge 2048 ] && echo /dev/shm
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
logs=$(mktemp -d)
# A change is on disk before it is answered: in memory that takes no time, and what the tests are about is the same.
scratch=$(mktemp -d "$(in_memory || echo "${TMPDIR:-/tmp}")/srv-tests.XXXXXX")
# Some servers run as another user.
chmod 1777 "$scratch"
trap 'rm -rf "$logs" "$scratch"' EXIT
# Of what every test file loads only the first is compiled.
export logs TMPDIR=$scratch NODE_COMPILE_CACHE=$PWD/dist/compile-cache

# One batch of files, one test after the other. What it says is shown when it is over, so that batches do not mix.
run_batch() {
  local log status
  log=$(mktemp "$logs/batch.XXXXXX")
  ava --serial "$@" >"$log" 2>&1
  status=$?
  # A file that cannot be loaded, an error outside of a test: ava fails without a failed test.
  if [ "$status" != 0 ] && ! grep -qE '^ +✘ \[fail\]' "$log"; then echo "  ✘ [fail]: ava ended with $status: $*" >>"$log"; fi
  grep -vE '^$' "$log"
}
export -f run_batch

# These mostly wait until a server finds out that something hangs: they have a lane of their own.
waiting=$(printf 'dist/test/%s.test.js\n' control/{faults,helper-faults} kernel/{helpers,hostile-modules,main-thread-hangs,module-life,workers})

# The largest files first, so that the last batch is a short one. Most tests wait for servers: two batches more than there are cores.
if [ $# -gt 0 ]; then files=$(printf '%s\n' "$@"); else files=$(find dist/test -name '*.test.js' -printf '%s %p\n' | sort -rn | cut -d' ' -f2); fi
grep -xF "$waiting" <<<"$files" | xargs -r bash -c 'run_batch "$@"' _ &
grep -vxF "$waiting" <<<"$files" | xargs -r -n 8 -P $(($(nproc) + 2)) bash -c 'run_batch "$@"' _
wait

count() { cat "$logs"/* | grep -cE "$1"; }
passed=$(count '^ +✔ ')
failed=$(count '^ +✘ \[fail\]')
skipped=$(count '^ +- \[skip\]')
failed=$((failed + ${#broken[@]}))

if [ "$skipped" -gt 0 ]; then
  echo
  echo "!! SKIPPED, because something they need is not installed here:"
  cat "$logs"/* | grep -E '^ +- \[skip\]' | sed -E 's/^ +- \[skip\]:? */!!   /'
fi
for name in "${broken[@]}"; do
  echo
  echo "!! FAILED: $name, see above"
done
echo
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
