#!/usr/bin/env python3
"""Puts the wheel together.

    assemble.py fill PURE.whl STAGE CHROOT FOLDER   the Python package as pip makes it, and what was built, into FOLDER/*.whl
    assemble.py seal REPAIRED.whl FOLDER            the same wheel with its members in order, of one date, in plain modes

The same files give the same wheel, byte for byte: dates are SOURCE_DATE_EPOCH.
"""
from __future__ import annotations

import base64
import hashlib
import os
import re
import sys
import time
import zipfile
from pathlib import Path

import sbom

HERE = Path(__file__).resolve().parent
COMPLETIONS = ("share/bash-completion/completions/bload", "share/zsh/site-functions/_bload", "share/fish/vendor_completions.d/bload.fish")
LINKED = {"shared": "a library of its own in bload.libs", "in-ffmpeg": "part of FFmpeg's libraries", "in-tool": "part of the tool or of libbload",
          "in-both": "part of FFmpeg's libraries, and of the tool"}
EARLIEST = 315532800  # 1980, the first date of a zip

Members = dict[str, tuple[bytes, bool]]  # by name: content, and whether it is a program


def read_wheel(path: str) -> Members:
    with zipfile.ZipFile(path) as wheel:
        return {info.filename: (wheel.read(info), bool(info.external_attr >> 16 & 0o111)) for info in wheel.infolist() if not info.is_dir()}


def record_line(name: str, content: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(content)}\n"


def write_wheel(path: Path, members: Members) -> None:
    date = time.gmtime(max(int(os.environ["SOURCE_DATE_EPOCH"]), EARLIEST))[:6]
    record = next(name for name in members if name.endswith(".dist-info/RECORD"))
    del members[record]
    lines = "".join(record_line(name, members[name][0]) for name in sorted(members))
    members[record] = (f"{lines}{record},,\n".encode(), False)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
        for name in [*sorted(members.keys() - {record}), record]:
            content, program = members[name]
            info = zipfile.ZipInfo(name, date)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.create_system = 3  # modes are Unix's
            info.external_attr = (0o100755 if program else 0o100644) << 16
            wheel.writestr(info, content)
    print(path)


def sources() -> list[list[str]]:
    """Rows of sources.txt: name, version, checksum, licence, how it is linked, licence files."""
    return [line.split() for line in (HERE / "sources.txt").read_text().splitlines() if not line.startswith("#")]


def notice(chroot: Path) -> str:
    lines = ["# What this wheel brings along\n",
             "bload itself is under the MIT licence (LICENSE). FFmpeg and soxr are under the LGPL: their libraries in the folder bload.libs can be",
             "replaced by others of the same interface. Nothing here is under the GPL. The licences' texts are in the folders beside this file.\n",
             "Each is Debian's source package of this name and version, with Debian's patches, as `apt-get source NAME=VERSION` gets it, from",
             "Debian's mirrors or its archive of past days; the scripts that build them are in the folder packaging/wheel of bload's source.\n"]
    for name, version, checksum, licence, linked, _ in sources():
        configured = (chroot / "opt/bload/configured" / name).read_text().strip()
        lines += [f"## {name} {version}\n", f"- licence: {licence.replace(',', ', ')}", f"- here: {LINKED[linked]}",
                  f"- SHA-256 of its .dsc: {checksum}", f"- configured: `{configured}`\n"]
    return "\n".join(lines)


def licences(chroot: Path, folder: str) -> Members:
    members = {}
    for name, _, _, _, _, files in sources():
        for file in files.split(","):
            members[f"{folder}/{name}/{Path(file).name}"] = ((chroot / "build" / name / file).read_bytes(), False)
    return members


def package_file(stage: Path, version: str) -> bytes:
    """bload.pc for where it will lie; nothing else is needed to link the shared library."""
    text = (stage / "lib/pkgconfig/bload.pc").read_text()
    text = re.sub("^prefix=.*", "prefix=${pcfiledir}/../..", text, flags=re.M)
    text = re.sub("^libdir=.*", "libdir=${prefix}/lib", text, flags=re.M)
    text = re.sub("^includedir=.*", "includedir=${prefix}/include", text, flags=re.M)
    text = re.sub("^(Requires|Libs).private:.*\n", "", text, flags=re.M)
    assert f"Version: {version}\n" in text, text
    return text.encode()


def data_files(stage: Path, version: str) -> Members:
    """What goes beside the package: into lib, include and share of the environment."""
    members = {"lib/libbload.so.2": ((stage / "lib/libbload.so.2").read_bytes(), True),
               "lib/libbload.so": (b"INPUT(-l:libbload.so.2)\n", False),  # for the linker: a wheel has no links
               "lib/pkgconfig/bload.pc": (package_file(stage, version), False),
               "include/bload.h": ((stage / "include/bload.h").read_bytes(), False)}
    for path in [*COMPLETIONS, *(str(page.relative_to(stage)) for page in stage.glob("share/man/man*/*"))]:
        members[path] = ((stage / path).read_bytes(), False)
    return members


def fill(pure: str, stage: Path, chroot: Path, folder: Path) -> None:
    members = read_wheel(pure)
    info = next(name for name in members if name.endswith(".dist-info/WHEEL")).split("/")[0]
    name = info.removesuffix(".dist-info")
    for path, member in data_files(stage, name.split("-")[1]).items():
        members[f"{name}.data/data/{path}"] = member
    members[f"{name}.data/scripts/bload"] = ((HERE / "start.py").read_bytes(), True)
    members["bload/bin/bload"] = ((stage / "bin/bload").read_bytes(), True)
    members[f"{info}/licenses/LICENSE"] = ((HERE.parent.parent / "LICENSE").read_bytes(), False)
    members[f"{info}/licenses/NOTICE.md"] = (notice(chroot).encode(), False)
    members.update(licences(chroot, f"{info}/licenses"))
    members[f"{info}/sboms/bload.spdx.json"] = (sbom.document(name.split("-")[1], sources(), int(os.environ["SOURCE_DATE_EPOCH"])), False)
    members[f"{info}/WHEEL"] = (b"Wheel-Version: 1.0\nGenerator: bload\nRoot-Is-Purelib: false\nTag: py3-none-linux_x86_64\n", False)
    write_wheel(folder / f"{name}-py3-none-linux_x86_64.whl", members)


def seal(repaired: str, folder: Path) -> None:
    write_wheel(folder / Path(repaired).name, read_wheel(repaired))


def main() -> None:
    what, arguments = sys.argv[1], sys.argv[2:]
    if what == "fill":
        fill(arguments[0], *map(Path, arguments[1:]))
    elif what == "seal":
        seal(arguments[0], Path(arguments[1]))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
