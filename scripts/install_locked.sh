#!/bin/sh
# Installs the Python packages of a suite into a virtual environment: install_locked.sh VENV SUITE
#
# On the platform of tests/SUITE/requirements.lock pip takes the files that are named there by their SHA-256, and nothing else; see
# scripts/lock.py. Elsewhere it takes what tests/SUITE/requirements*.txt name. A lock that is older than these is an error.
set -u
pip=$1/bin/pip
folder=$(cd "$(dirname "$0")/.." && pwd)/tests/$2
cd "$folder" || exit 1

install() {
    "$pip" install --disable-pip-version-check --retries 2 --timeout 30 -q "$@" </dev/null && return
    echo "pip cannot install the packages of tests/$(basename "$folder")"
    return 1
}

read -r _ machine version digest _ <requirements.lock
if [ "$("$1/bin/python3" -c 'import platform, sys; print(platform.machine(), "%d.%d" % sys.version_info[:2])')" != "$machine $version" ]; then
    install -r requirements.txt || exit 1
    [ ! -e requirements-alone.txt ] || install --no-deps -r requirements-alone.txt
elif [ "$(cat requirements.txt requirements-alone.txt 2>/dev/null | sha256sum | cut -d ' ' -f 1)" = "$digest" ]; then
    install --no-deps --require-hashes -r requirements.lock
else
    echo "tests/$(basename "$folder")/requirements.lock is not of these requirements: run scripts/lock.py $(basename "$folder")"
    exit 1
fi
