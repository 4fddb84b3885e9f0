"""shards.tsv: the sizes and checksums of the shards."""
from __future__ import annotations

from typing import List

from .errors import DamagedError
from .manifest import Manifest
from .mapping import MappedFile

FILE = "shards.tsv"
COLUMNS = b"file\tfirst_block\tblocks\tbytes\tchecksum"


def read_checksums(path: str, manifest: Manifest) -> List[str]:
    """The checksum of each shard, 16 hexadecimal digits. DamagedError: the table does not match the manifest."""
    file = MappedFile(path)
    lines = bytes(file.read(0, file.size)).split(b"\n")
    if lines[0] != COLUMNS or lines.pop():
        raise DamagedError("wrong header line, or truncated", path)
    if len(lines) != manifest.shards + 1:
        raise DamagedError(f"it has {len(lines) - 1} rows, expected {manifest.shards}", path)
    checksums = []
    for number, line in enumerate(lines[1:]):
        first = number * manifest.blocks_per_shard
        blocks = min(manifest.blocks_per_shard, manifest.blocks - first)
        told = line.split(b"\t")
        if len(told) != 5 or told[:3] != [manifest.shard_name(number).encode(), b"%d" % first, b"%d" % blocks]:
            raise DamagedError(f"line {number + 2} does not match shard {number}", path)
        checksums.append(told[4].decode(errors="replace"))
    return checksums
