#!/bin/sh
# Makes build/venv, a Python with the released readers that datasets are tested with (tests/readers/requirements.txt), and prints the
# path of its interpreter. Nothing is done when it is there. Where it cannot be made, the last line of stderr says why: status 1.
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
venv=$root/build/venv
wanted=$root/tests/readers/requirements.txt

# Suites that need it may begin at the same time.
mkdir -p "$root/build"
exec 9>"$root/build/venv.lock"
flock 9
if ! cmp -s "$wanted" "$venv/installed.txt"; then
    if ! python3 -m venv "$venv" >"$root/build/venv.log" 2>&1; then
        echo "python3 cannot make a virtual environment (build/venv.log)" >&2
        exit 1
    fi
    if ! "$venv/bin/pip" install --disable-pip-version-check --retries 2 --timeout 30 -q -r "$wanted" </dev/null >>"$root/build/venv.log" 2>&1; then
        echo "pip cannot install $(tr '\n' ' ' <"$wanted")(build/venv.log)" >&2
        exit 1
    fi
    cp "$wanted" "$venv/installed.txt"
fi
echo "$venv/bin/python3"
