#!/usr/bin/env bash
# Checks the subjects of commits: "area: what", at most 72 characters. tools/commits.sh [BASE] checks those that are not in BASE; without it, all
# since the rule exists. Where there is no git or no history there is nothing to check.
cd "$(dirname "$0")/.." || exit 1

since=2026-11-22T17:00:00Z
most=72

[ -e .git ] && git rev-parse --quiet --verify HEAD >/dev/null 2>&1 || exit 0
commits=(--since="$since")
if [ $# -gt 0 ]; then commits=("$1..HEAD"); fi
# A clone may lack the base.
subjects=$(git log --no-merges --format='%h %s' "${commits[@]}" -- 2>/dev/null) || exit 0

failed=0
while read -r commit subject; do
  if [ "${#subject}" -gt "$most" ]; then echo "commit $commit: ${#subject} characters, at most $most: $subject" && failed=1; fi
  if ! [[ "$subject" =~ ^[[:alnum:]/_,.\ -]+:\ [^\ ] ]]; then echo "commit $commit: write \"area: what\": $subject" && failed=1; fi
done < <(printf '%s' "${subjects:+$subjects$'\n'}")
exit $failed
