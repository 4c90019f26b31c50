#!/usr/bin/env bash
# Makes .venv: `setup.sh run` for running, `setup.sh dev` for tests as well. Does nothing when all is in place.
set -euo pipefail
cd "$(dirname "$0")/.."
level=${1:?run or dev}
stamp=.venv/.echo-setup

say() { printf '› %s\n' "$@" >&2; }
fail() { printf '\n✗ %s\n' "$@" >&2; exit 3; }

find_python() {
    local name
    for name in ${PYTHON:+"$PYTHON"} python3.11 python3.12 python3 python; do
        if "$name" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info[:2] not in ((3, 11), (3, 12)))' \
            2>/dev/null; then
            "$name" -c 'import sys; print(sys.executable)'
            return
        fi
    done
    fail "ECHO needs Python 3.11 or 3.12 with the venv module." \
        "Debian/Ubuntu: sudo apt-get install python3 python3-venv  ·  or name one: make run PYTHON=/path/to/python3.11" \
        "ECHO a besoin de Python 3.11 ou 3.12 avec le module venv (même remède)."
}

# uv does not read pip's settings; a machine that reaches its package index through them must work all the same.
export_index_settings() {
    local pip=.venv/bin/pip value
    value=$("$pip" config get global.index-url 2>/dev/null) || value=${PIP_INDEX_URL:-}
    if [ -n "$value" ] && [ -z "${UV_DEFAULT_INDEX:-}${UV_INDEX_URL:-}" ]; then export UV_DEFAULT_INDEX=$value; fi
    value=$("$pip" config get global.cert 2>/dev/null) || value=${PIP_CERT:-}
    if [ -n "$value" ] && [ -z "${SSL_CERT_FILE:-}" ]; then export SSL_CERT_FILE=$value; fi
}

# .venv is good for this checkout, this Python and these locks; a moved or copied folder is not.
wanted() {
    local files=(requirements/setup.txt "requirements/$1.txt" pyproject.toml)
    printf '%s %s %s\n' "$1" "$PWD" "$(cat "${files[@]}" | cksum)"
}

if [ -f "$stamp" ] && .venv/bin/python -c '' 2>/dev/null; then
    if [ "$level" = run ] && [ "$(cat "$stamp")" = "$(wanted dev)" ]; then exit 0; fi
    if [ "$(cat "$stamp")" = "$(wanted "$level")" ]; then exit 0; fi
    # What was set up for tests stays so.
    if grep -q '^dev ' "$stamp"; then level=dev; fi
fi

python=$(find_python)
say "Setting up .venv for '$level' with $("$python" --version) (some minutes the first time)" \
    "Mise en place de .venv pour « $level » (quelques minutes la première fois)"
rm -f "$stamp"
if ! .venv/bin/python -c '' 2>/dev/null || ! grep -qsF "$PWD/.venv" .venv/bin/pip; then
    rm -rf .venv
    "$python" -m venv .venv
fi
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1
say "1/3 The installer · L'installateur"
if ! .venv/bin/python -m pip install --quiet --require-hashes --no-deps -r requirements/setup.txt; then
    fail "The package index cannot be reached; look at the lines above." \
        "Behind a proxy or with an own index: set PIP_INDEX_URL or pip's configuration, then run make again." \
        "L'index de paquets est injoignable : réglez PIP_INDEX_URL ou la configuration de pip, puis relancez make."
fi
export_index_settings
uv_sync() {
    local status=0
    .venv/bin/uv pip sync --quiet --require-hashes --python .venv/bin/python "requirements/$level.txt" 2> "$1" || status=$?
    cat "$1" >&2
    return "$status"
}

# uv brings its own list of certificates; a proxy that signs with its own is known to the system only.
# Newer versions read the first variable, older ones the second.
uv_sync_with_system_certificates() {
    grep -qiE 'UnknownIssuer|certificate' "$1" || return 1
    say "uv does not know a certificate; trying again with those of the system" \
        "uv ne connaît pas un certificat ; nouvel essai avec ceux du système"
    UV_SYSTEM_CERTS=true UV_NATIVE_TLS=true uv_sync "$1"
}

count=$(grep -c '==' "requirements/$level.txt")
say "2/3 Open WebUI and what it needs: $count packages · Open WebUI et ses dépendances : $count paquets"
told=.venv/.echo-uv-said
if ! uv_sync "$told" && ! uv_sync_with_system_certificates "$told"; then
    say "uv did not manage it; trying again with pip, which is slower" \
        "uv n'y est pas arrivé ; nouvel essai avec pip, plus lent"
    .venv/bin/python -m pip install --quiet --require-hashes --no-deps -r "requirements/$level.txt" \
        || fail "The packages could not be installed; look at the lines above." \
            "Les paquets n'ont pas pu être installés ; voir les lignes ci-dessus."
fi
rm -f "$told"
say "3/3 ECHO"
.venv/bin/python -m pip install --quiet --no-deps --no-build-isolation --no-index --editable .
wanted "$level" > "$stamp"
say "The set-up is done · La mise en place est terminée"
