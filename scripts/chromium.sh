#!/usr/bin/env bash
# Prints the path of a Chromium: one that is there, or Debian's package, or one that an npm package ships.
set -euo pipefail
cd "$(dirname "$0")/.."
#: A build that runs with Node 20.11 or newer. Source: `npm view @sparticuz/chromium@143 engines`.
package=@sparticuz/chromium@143.0.4
home=$PWD/.cache/chromium

say() { printf '› %s\n' "$*" >&2; }

find_chromium() {
    local name
    for name in ${CHROMIUM_PATH:+"$CHROMIUM_PATH"} chromium chromium-browser google-chrome google-chrome-stable \
        "$home/chromium"; do
        if command -v "$name" >/dev/null && "$name" --version >/dev/null 2>&1; then command -v "$name"; return; fi
    done
    return 1
}

install_debian() {
    [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || return 1
    say "Installing Debian's chromium"
    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
        chromium fonts-dejavu-core; } >&2
}

install_npm() {
    command -v npm >/dev/null && command -v node >/dev/null || return 1
    say "Installing the Chromium of $package into .cache/"
    mkdir -p "$home"
    npm install --prefix "$home" --ignore-scripts --no-audit --no-fund --silent "$package" >&2 || return 1
    local unpack='const z = require("zlib"), f = require("fs"); f.createReadStream(process.argv[1])
        .pipe(z.createBrotliDecompress()).pipe(f.createWriteStream(process.argv[2], { mode: 0o755 }));'
    local bin=$home/node_modules/@sparticuz/chromium/bin
    node -e "$unpack" "$bin/chromium.br" "$home/chromium.bin"
    node -e "$unpack" "$bin/al2023.tar.br" "$home/libraries.tar"
    tar -xf "$home/libraries.tar" -C "$home"
    # The bundled libraries are for machines that lack them; where the system has its own, those are used.
    local libraries=
    if ldd "$home/chromium.bin" | grep -q 'not found'; then libraries=$home/lib; fi
    printf '#!/bin/sh\nLD_LIBRARY_PATH="%s${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" exec "%s" "$@"\n' \
        "$libraries" "$home/chromium.bin" > "$home/chromium"
    chmod +x "$home/chromium"
}

find_chromium || { install_debian && find_chromium; } || { install_npm && find_chromium; } || {
    printf '\n✗ %s\n' "No Chromium for the browser tests: install it (Debian: sudo apt-get install chromium)," \
        "or name one with CHROMIUM_PATH=/path/to/chromium." \
        "Pas de Chromium pour les tests du navigateur : installez-le, ou donnez CHROMIUM_PATH." >&2
    exit 3
}
