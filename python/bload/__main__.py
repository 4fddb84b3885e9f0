"""python -m bload: the tool, which the package brings along where pip got it as a wheel; else the one on the PATH."""
from __future__ import annotations

import os
import shutil
import sys


def tool() -> str | None:
    inside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "bload")
    return inside if os.path.exists(inside) else shutil.which("bload")


def main() -> None:
    path = tool()
    if path is None:
        sys.exit("python -m bload: the tool is neither in the package nor on the PATH: install the wheel (pip install bload), or build it (make install)")
    os.execv(path, ["bload", *sys.argv[1:]])


if __name__ == "__main__":
    main()
