#!/bin/sh
# Makes build/torch-venv, a Python with torch and the frameworks that training is tested with (tests/torch/requirements*.txt), and
# prints the path of its interpreter. Nothing is done when it is there. Where it cannot be made, the last line of stderr says why:
# status 1. TORCH_PYTHON names another interpreter, which is used as it is.
#
# torch is Debian's (python3-torch, see deps.sh): pip's brings the CUDA libraries, ten times as much. So the environment is one over
# Debian's own Python, whatever python3 comes first in the path. Packages that would have pip replace torch come without the ones
# that they depend on (requirements-alone.txt); their versions are the last that work with Debian's.
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
venv=$root/build/torch-venv
log=$root/build/torch-venv.log
lock=$root/tests/torch/requirements.lock

if [ -n "${TORCH_PYTHON-}" ]; then
    echo "$TORCH_PYTHON"
    exit 0
fi

# Suites that need it may begin at the same time.
mkdir -p "$root/build"
exec 9>"$root/build/torch-venv.lock"
flock 9
if ! cmp -s "$lock" "$venv/installed.txt"; then
    if ! /usr/bin/python3 -c 'import torch' >"$log" 2>&1; then
        echo "/usr/bin/python3 has no torch: scripts/deps.sh torch installs it (build/torch-venv.log)" >&2
        exit 1
    fi
    if ! /usr/bin/python3 -m venv --clear --system-site-packages "$venv" >>"$log" 2>&1; then
        echo "/usr/bin/python3 cannot make a virtual environment (build/torch-venv.log)" >&2
        exit 1
    fi
    if ! "$root/scripts/install_locked.sh" "$venv" torch >>"$log" 2>&1; then
        echo "$(tail -n 1 "$log") (build/torch-venv.log)" >&2
        exit 1
    fi
    cp "$lock" "$venv/installed.txt"
fi
echo "$venv/bin/python3"
