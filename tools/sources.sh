#!/usr/bin/env bash
# A line that changes when a file changes that the build is made of: dist/.sources has that of the last build.
cd "$(dirname "$0")/.." || exit 1
find core dashboard modules testing tools tsconfig.json package.json -type f -printf '%p %s %T@\n' | LC_ALL=C sort | cksum
