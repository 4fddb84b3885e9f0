"""shards.tsv: the sizes and checksums of the shards."""
from __future__ import annotations

from typing import List

from .errors import DamagedError
from .forms import is_checksum, size_of
from .manifest import Manifest
from .mapping import MappedFile
from .storage import FileEntry

FILE = "shards.tsv"
COLUMNS = b"file\tfirst_block\tblocks\tbytes\tchecksum"


def read_entries(file: MappedFile, manifest: Manifest) -> List[FileEntry]:
    """Return the size and checksum of each shard; raise DamagedError if the table does not match the manifest."""
    path = file.path
    lines = bytes(file.read(0, file.size)).split(b"\n")
    if lines[0] != COLUMNS or lines.pop():
        raise DamagedError("wrong header line, or truncated", path)
    if len(lines) != manifest.shards + 1:
        raise DamagedError(f"it has {len(lines) - 1} rows, expected {manifest.shards}", path)
    entries = []
    for number, line in enumerate(lines[1:]):
        first = number * manifest.blocks_per_shard
        blocks = min(manifest.blocks_per_shard, manifest.blocks - first)
        values = line.split(b"\t")
        place = [manifest.shard_name(number).encode(), b"%d" % first, b"%d" % blocks]
        size, digits = (size_of(values[3]), values[4].decode(errors="replace")) if len(values) == 5 else (None, "")
        if values[:3] != place or size is None or not is_checksum(digits):
            raise DamagedError(f"line {number + 2} does not match shard {number}", path)
        entries.append(FileEntry(size, digits))
    return entries
