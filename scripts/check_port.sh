#!/usr/bin/env bash
# `check_port.sh PORT`: fails when a program listens there, before `make run` spends minutes on the set-up.
set -euo pipefail
port=${1:?port}

busy() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

if busy "$port"; then
    free=$((port < 65535 ? port + 1 : 1024))
    while busy "$free"; do free=$((free + 1)); done
    printf '\n✗ %s\n' "Port $port is used by another program. Stop it, or choose another port: make run PORT=$free" \
        "Le port $port est pris par un autre programme. Arrêtez-le, ou choisissez un autre port : make run PORT=$free" >&2
    exit 8
fi
