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
wanted=$root/tests/torch/requirements.txt
alone=$root/tests/torch/requirements-alone.txt

if [ -n "${TORCH_PYTHON-}" ]; then
    echo "$TORCH_PYTHON"
    exit 0
fi

install() {
    "$venv/bin/pip" install --disable-pip-version-check --retries 2 --timeout 30 -q "$@" </dev/null >>"$log" 2>&1
}

# Suites that need it may begin at the same time.
mkdir -p "$root/build"
exec 9>"$root/build/torch-venv.lock"
flock 9
if ! cat "$wanted" "$alone" | cmp -s - "$venv/installed.txt"; then
    if ! /usr/bin/python3 -c 'import torch' >"$log" 2>&1; then
        echo "/usr/bin/python3 has no torch: scripts/deps.sh torch installs it (build/torch-venv.log)" >&2
        exit 1
    fi
    if ! /usr/bin/python3 -m venv --clear --system-site-packages "$venv" >>"$log" 2>&1; then
        echo "/usr/bin/python3 cannot make a virtual environment (build/torch-venv.log)" >&2
        exit 1
    fi
    if ! install -r "$wanted" || ! install --no-deps -r "$alone"; then
        echo "pip cannot install $(cat "$wanted" "$alone" | tr '\n' ' ')(build/torch-venv.log)" >&2
        exit 1
    fi
    cat "$wanted" "$alone" >"$venv/installed.txt"
fi
echo "$venv/bin/python3"
