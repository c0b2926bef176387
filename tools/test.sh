#!/usr/bin/env bash
# What "npm test" does once the packages are installed: builds, lints, and runs every test. Its last lines name what could not be tested
# here, and the very last one is "N passed, N failed, N skipped".
# With arguments it runs these test files only: tools/test.sh dist/test/cli/*.test.js
# With --quick it runs those of which test/harness/in-process.ts finds that they start no process.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
export PATH="$PWD/node_modules/.bin:$PATH"

quick=0
if [ "${1:-}" = --quick ]; then quick=1 && shift; fi

# Programs that some tests talk to or compare with, each with the Debian package that has it. Tests that lack theirs are skipped.
programs=(redis-server:redis-server nginx:nginx-light haproxy:haproxy wrk:wrk mosquitto_sub:mosquitto-clients mypy:mypy php-fpm8.2:php8.2-fpm chromium:chromium tesseract:tesseract-ocr prometheus:prometheus promtool:prometheus)

missing_packages() {
  local entry
  [ "$quick" = 0 ] || return 0
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

logs=$(mktemp -d)
trap 'rm -rf "$logs" "${scratch:-$logs}"' EXIT
# Whatever fails here, the tests still run: one run tells everything.
broken=()
step() {
  echo "== $1"
  "${@:2}" || broken+=("$1")
}

# A step that runs beside those after it, up to "finish".
beside() { "${@:2}" >"$logs/step.$1" 2>&1 & running["$1"]=$!; }
declare -A running
finish() {
  local status=0
  wait "${running[$1]}" || status=$?
  echo "== $1"
  cat "$logs/step.$1"
  [ "$status" = 0 ] || broken+=("$1")
}

rm -rf dist
beside programs install_missing
beside lint oxlint --type-aware
step 'build and type-check' tsc -p tsconfig.json
step 'type-check the dashboard' tsc -p dashboard/tsconfig.json
step 'bundle' node dist/tools/bundle.js
step 'words' node dist/tools/words/words.js
step 'format' oxfmt --check
step 'subjects of commits' bash tools/commits.sh
finish programs

echo '== tests'
# A change is on disk before it is answered: in memory that takes no time, and what the tests are about is the same.
scratch=$(mktemp -d "$(in_memory || echo "${TMPDIR:-/tmp}")/srv-tests.XXXXXX")
# Some servers run as another user.
chmod 1777 "$scratch"
# Of what every test file loads only the first is compiled.
export logs TMPDIR=$scratch NODE_COMPILE_CACHE=$PWD/dist/compile-cache
# test/harness/cost.ts writes there what each file costs.
export SRV_TEST_COSTS=$logs/costs
mkdir "$SRV_TEST_COSTS"

# One batch of files, one test after the other. What it says is shown when it is over, so that batches do not mix.
run_batch() {
  local lane=$1 log status
  shift
  log=$(mktemp "$logs/batch.XXXXXX")
  ava --serial "$@" >"$log" 2>&1
  status=$?
  # A file that cannot be loaded, an error outside of a test: ava fails without a failed test.
  if [ "$status" != 0 ]; then
    grep -qE '^ +✘ \[fail\]' "$log" || echo "  ✘ [fail]: ava ended with $status: $*" >>"$log"
    failed_files "$log" "$@" >>"$logs/again"
  fi
  grep -vE '^$' "$log"
  # Processor time of what the batch started, in the lines and the form of "times".
  times >"$log.times"
  tail -1 "$log.times" >>"$logs/times.$lane"
  rm "$log.times"
}

# Which files of a batch have a failed test; all of them where the names of the tests do not say it.
failed_files() {
  local log=$1 file title named=()
  shift
  for file in "$@"; do
    title=${file#dist/test/} && title=${title%.test.js} && title=${title//\// › }
    if grep -qF "✘ [fail]: $title ›" "$log"; then named+=("$file"); fi
  done
  [ ${#named[@]} -gt 0 ] || named=("$@")
  printf '%s\n' "${named[@]}"
}
export -f run_batch failed_files

# A lane: its name, how many batches run at the same time, how many files a batch has. Reads the names of the files.
run_lane() { xargs -r -n "$3" -P "$2" bash -c 'run_batch "$@"' _ "$1"; }

# These mostly wait until a server finds out that something hangs: they have a lane of their own.
waiting=$(printf 'dist/test/%s.test.js\n' control/{faults,helper-faults} \
  kernel/{hanging-actions,helpers,hostile-modules,main-thread-hangs,module-life,module-versions,unloading,workers})
in_process=$(node dist/test/harness/in-process.js)

# The largest files first, so that the last batch is a short one.
if [ $# -gt 0 ]; then files=$(printf '%s\n' "$@"); else files=$(find dist/test -name '*.test.js' -printf '%s %p\n' | sort -rn | cut -d' ' -f2); fi
if [ "$quick" = 1 ]; then files=$(grep -xF "$in_process" <<<"$files"); fi
grep -xF "$waiting" <<<"$files" | run_lane waits 2 4 &
lanes=$!
# These wait for nothing: they get the time that the others leave.
{
  renice -n 5 "$BASHPID" >/dev/null
  grep -xF "$in_process" <<<"$files" | run_lane in-process 1 16
} &
lanes="$lanes $!"
# Most of these wait for servers: one batch more than there are cores. With more a slow machine keeps servers from responding in time.
grep -vxF "$waiting
$in_process" <<<"$files" | run_lane servers $(($(nproc) + 1)) 8
# shellcheck disable=SC2086
wait $lanes
finish lint

count() { cat "$logs"/batch.* | grep -cE "$1"; }

# Runs the files that had failures once more, alone. What passes now met a busy machine, or a fault that shows itself one time in many:
# it is named at the end, and its cause wants to be found. A few of these alone do not fail the run.
most_unsteady=5
unsteady=0
second_run() {
  local failures file status=0
  failures=$(count '^ +✘ \[fail\]')
  [ "$failures" -gt 0 ] && [ "$failures" -le "$most_unsteady" ] || return 0
  echo '== once more, alone'
  while read -r file; do
    ava --serial "$file" </dev/null 2>&1 | grep -vE '^$'
    [ "${PIPESTATUS[0]}" = 0 ] || status=1
  done < <(sort -u "$logs/again")
  [ "$status" = 1 ] || unsteady=$failures
}
second_run

# Seconds of processor time that the files of a lane may take together, twice what they took when this was written.
declare -A budgets=([in-process]=150 [servers]=1300 [waits]=140)
seconds() { awk -F'[ms ]' '{ sum += $1 * 60 + $2 + $4 * 60 + $5 } END { printf "%d", sum }' "$1"; }

passed=$(($(count '^ +✔ ') + unsteady))
failed=$(($(count '^ +✘ \[fail\]') - unsteady + ${#broken[@]}))
skipped=$(count '^ +- \[skip\]')

echo
echo "The slowest tests:"
# Behind a title that took longer than a second: (1.2s), (1m 2s).
awk '/^ +✔ .*[0-9.]s\)$/ && !/ms\)$/ {
  time = $0; sub(/.*\(/, "", time); sub(/s\)$/, "", time)
  parts = split(time, part, "m "); title = $0; sub(/^ +✔ /, "", title)
  printf "%.1f %s\n", parts == 2 ? part[1] * 60 + part[2] : part[1], title
}' "$logs"/batch.* | sort -rn | head -10 | cut -d' ' -f2- | sed 's/^/  /'
echo "The most expensive files, with the processes that they started, in seconds of processor time:"
cat "$SRV_TEST_COSTS"/* 2>/dev/null | sort -rn | head -10 | sed -E 's|^(\S+) .* dist/test/(.*)\.test\.js$|  \1 \2|'
for lane in in-process servers waits; do
  [ -f "$logs/times.$lane" ] || continue
  took=$(seconds "$logs/times.$lane")
  echo "$lane: ${took} s of processor time"
  if [ "$took" -gt "${budgets[$lane]}" ]; then echo "!! OVER THE BUDGET of $lane, ${budgets[$lane]} s: which file has become expensive?"; fi
done

if [ "$skipped" -gt 0 ]; then
  echo
  echo "!! SKIPPED, because something they need is not installed here:"
  cat "$logs"/batch.* | grep -E '^ +- \[skip\]' | sed -E 's/^ +- \[skip\]:? */!!   /'
fi
if [ $((failed + unsteady)) -gt 0 ]; then
  echo
  if [ "$unsteady" -gt 0 ]; then echo "!! UNSTEADY, failed beside others and passed alone:"; else echo "!! FAILED: what is said about each is above, below its name"; fi
  cat "$logs"/batch.* | grep -E '^ +✘ \[fail\]' | sed -E 's/^ +✘ \[fail\]:? */!!   /'
  for name in "${broken[@]}"; do echo "!!   FAILED: $name"; done
fi
echo
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
