"""Run the command-line tool: python -m bload. The wheel contains the tool; otherwise it is looked up on the PATH."""
from __future__ import annotations

import os
import shutil
import sys


def tool() -> str | None:
    """Return the path of the tool inside the wheel, or of the one on the PATH, or None if there is neither."""
    inside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "bload")
    return inside if os.path.exists(inside) else shutil.which("bload")


def main() -> None:
    """Replace this process with the tool, and pass it the arguments of the command line."""
    path = tool()
    if path is None:
        sys.exit("python -m bload: the tool is neither in the package nor on the PATH: install the wheel (pip install bload), or build it "
                 "(make install)")
    os.execv(path, ["bload", *sys.argv[1:]])


if __name__ == "__main__":
    main()
