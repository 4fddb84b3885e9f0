#!/bin/sh
# Makes build/engines-venv, a Python with the released engines that bload.launch is tested with (tests/engines/requirements.txt), and prints the
# path of its interpreter. Nothing is done when it is there. Where it cannot be made, the last line of stderr says why: status 1.
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
venv=$root/build/engines-venv
lock=$root/tests/engines/requirements.lock

# Two runs may begin at the same time.
mkdir -p "$root/build"
exec 9>"$root/build/engines-venv.lock"
flock 9
if ! cmp -s "$lock" "$venv/installed.txt"; then
    if ! python3 -m venv "$venv" >"$root/build/engines-venv.log" 2>&1; then
        echo "python3 cannot make a virtual environment (build/engines-venv.log)" >&2
        exit 1
    fi
    if ! "$root/scripts/install_locked.sh" "$venv" engines >>"$root/build/engines-venv.log" 2>&1; then
        echo "$(tail -n 1 "$root/build/engines-venv.log") (build/engines-venv.log)" >&2
        exit 1
    fi
    cp "$lock" "$venv/installed.txt"
fi
echo "$venv/bin/python3"
