#!/usr/bin/env bash
# tests.sh EXPRESSION [pytest's arguments]: what needs no Open WebUI in several workers, then the rest one after another.
# Two Open WebUI and two browsers at once starve each other on two cores, and a page that waits too long is a failure.
set -uo pipefail
cd "$(dirname "$0")/.."
chosen=$1
shift
workers=${WORKERS:-2}
nothing=5 # pytest's code for "no test was chosen"
status=$nothing

run() {
    .venv/bin/pytest "$@"
    local code=$?
    if [ "$code" != "$nothing" ] && { [ "$status" = "$nothing" ] || [ "$status" = 0 ]; }; then status=$code; fi
}

run --numprocesses="$workers" --dist=loadfile -m "($chosen) and not owui" "$@"
run -m "($chosen) and owui" "$@"
exit "$status"
