#!/bin/sh
# Makes build/remote-venv, a Python with torch and what reading from afar is tested with (tests/remote/requirements.txt): fsspec, and servers
# of S3 and Google's store; and prints the path of its interpreter. Nothing is done when it is there. Where it cannot be made, the last line of stderr says why:
# status 1. It lies over the environment of torch-venv.sh where that can be made, and without torch over build/venv.
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
venv=$root/build/remote-venv
log=$root/build/remote-venv.log
lock=$root/tests/remote/requirements.lock

mkdir -p "$root/build"
if ! base=$("$root/scripts/torch-venv.sh" 2>>"$log") && ! base=$("$root/scripts/readers-venv.sh" 2>>"$log"); then
    tail -n 1 "$log" >&2
    exit 1
fi
exec 9>"$root/build/remote-venv.lock"
flock 9
if ! { echo "# $base" && cat "$lock"; } | cmp -s - "$venv/installed.txt"; then
    # The packages of the other environment are seen through a .pth file: nothing is installed twice, or changed there.
    if ! "$base" -m venv --clear "$venv" >"$log" 2>&1; then
        echo "python3 cannot make a virtual environment (build/remote-venv.log)" >&2
        exit 1
    fi
    "$base" -c 'import sys; print("\n".join(path for path in sys.path if path.endswith("-packages")))' \
        >"$("$venv/bin/python3" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/other.pth"
    if ! "$root/scripts/install_locked.sh" "$venv" remote >>"$log" 2>&1; then
        echo "$(tail -n 1 "$log") (build/remote-venv.log)" >&2
        exit 1
    fi
    { echo "# $base" && cat "$lock"; } >"$venv/installed.txt"
fi
echo "$venv/bin/python3"
