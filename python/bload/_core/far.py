"""Remote shards: read like mapped files, from pieces that were fetched and checked. The shard alone determines where its pieces begin."""
from __future__ import annotations

import functools
import struct
from bisect import bisect_left, bisect_right
from typing import Callable, Dict, Iterator, List, NamedTuple, Optional, Protocol, Sequence, Tuple

import numpy as np

from . import checksum
from .encoding import JPEG
from .errors import DamagedError
from .manifest import FLAT, Field, Manifest
from .mapping import WORTH_MAPPING, WORTH_VIEWING, Buffer, Bytes, MappedFile, Steps
from .pieces import Piece, size_of
from .regions import checksums, digest_of
from .safetensors import HEADER_MAX, PREFIX, Header, bytes_of, read_header
from .seekable import can_decompress, decompress_into, read_table, table_size
from .storage import FileEntry

# Bytes of the first request for a shard: enough for its header and tables, unless these are larger than expected.
HEADER = 4 << 10
TAIL = 64 << 10
# The least bytes of a part of a compressed shard.
LEAST_FRAMES = 64 << 10


class WrongBytes(Exception):
    """The fetched bytes cannot be right."""


class Part(NamedTuple):
    """A piece of a file: the unit that is fetched, checked and kept.

    key: its name in the cache, which begins with a checksum that the check compares with the bytes. begin, end: its bytes in the file.
    check: returns what is wrong with the bytes, or None. get: fetches the bytes if they are not simply those from begin to end. frames: true
    for frames of a compressed shard. Their check decompresses them, so it is not repeated for bytes from the cache; their key does not follow
    from them, and decompressed blocks are compared with the index each time (see proof).
    """
    key: str
    begin: int
    end: int
    check: Callable[[Bytes], Optional[str]]
    get: Optional[Callable[[], Bytes]] = None
    frames: bool = False


class Fetcher(Protocol):
    """The interface that fetches parts; remote.RemoteStorage implements it."""

    def piece(self, name: str, size: int, part: Part, more: Sequence[Part] = ()) -> Piece:
        """Return a part of a file of size bytes. `more` are the parts right behind it, to be fetched with it if it is not here."""
        ...

    def has(self, part: Part) -> bool:
        """Return whether a part is here."""
        ...

    def prepare(self, name: str, size: int, part: Part) -> None:
        """Fetch a part that is needed soon."""
        ...

    def request(self, name: str, begin: int, end: int, size: int) -> Bytes: ...

    def locate(self, name: str) -> str: ...


class FarFile(MappedFile):
    """A shard that is fetched in parts. It consists of segments: each is a part, or belongs to the head, a part that is fetched first.

    `unit` is the size that a part should have if it consists of smaller things.
    """

    far = True

    def __init__(self, fetcher: Fetcher, name: str, entry: FileEntry, unit: int):
        self.fetcher, self.name, self.size, self.unit = fetcher, name, entry.bytes, unit
        self.path, self.checksum = fetcher.locate(name), entry.checksum
        self.large, self.share, self.looked_at = True, 0, 0
        self.last, self.run = -2, 0  # the segment that was read last, and how many segments before it were read in order
        # Segment k goes from begins[k] to begins[k + 1]. inside[k]: where in the head it begins, or -1 if it is a part of its own.
        self.begins: List[int] = [0, self.size]
        self.inside: List[int] = [0]

    @property
    def head(self) -> Part:
        """The part that determines where the others begin."""
        raise NotImplementedError

    def load_head(self) -> Bytes:
        """Return the bytes of the head."""
        piece = self.fetcher.piece(self.name, self.size, self.head)
        return piece.array(0, np.dtype(np.uint8), (piece.size,)).data

    def __del__(self) -> None:
        """Do nothing, because no file is open."""

    def look(self, size: int) -> None:
        """Do nothing, because no file is mapped as a whole."""

    def part(self, k: int) -> Part:
        """Return segment k as a part."""
        raise NotImplementedError

    def segment(self, k: int) -> Tuple[Piece, int]:
        """Return the piece that contains segment k, and where in the piece the segment begins."""
        if self.inside[k] >= 0:
            return self.fetcher.piece(self.name, self.size, self.head), self.inside[k]
        more: List[Part] = []
        if k != self.last:
            self.run = self.run + 1 if k == self.last + 1 else 0
        if self.run > 0:  # read in order: fetch the next small segments with the same request, twice as many each time
            end, most = k + 1, k + (1 << min(self.run, 16))
            while end < min(most, len(self.inside)) and self.inside[end] < 0 and self.begins[end + 1] - self.begins[k] <= WORTH_MAPPING:
                more.append(self.part(end))
                end += 1
        self.last = k
        return self.fetcher.piece(self.name, self.size, self.part(k), more), 0

    def pieces(self, offset: int, size: int) -> Iterator[Tuple[Piece, int, int]]:
        """Yield the pieces that contain bytes from offset on: for each where in it to begin, and how many bytes."""
        k = bisect_right(self.begins, offset) - 1
        while size > 0:
            piece, at = self.segment(k)
            inside = offset - self.begins[k]
            count = min(size, self.begins[k + 1] - offset)
            yield piece, at + inside, count
            offset, size, k = offset + count, size - count, k + 1

    def parts(self, offset: int, size: int) -> Iterator[Part]:
        """Yield the parts, except the head, that contain size bytes from offset on."""
        if size > 0:
            for k in range(bisect_right(self.begins, offset) - 1, bisect_right(self.begins, offset + size - 1)):
                if self.inside[k] < 0:
                    yield self.part(k)

    def prepare(self, offset: int, size: int) -> None:
        for part in self.parts(offset, size):
            self.fetcher.prepare(self.name, self.size, part)

    def ready(self, offset: int, size: int) -> bool:
        return all(self.fetcher.has(part) for part in self.parts(offset, size))

    def fill(self, offset: int, out: Buffer) -> None:
        if offset + len(out) > self.size:
            raise DamagedError(f"it has {self.size} bytes, fewer than expected", self.path)
        done = 0
        for piece, at, count in self.pieces(offset, len(out)):
            piece.fill(at, out[done:done + count])
            done += count

    def gather(self, begin: int, size: int, places: Steps, out: memoryview) -> None:
        for _, step, start, end in places:
            self.fill(begin + step * size, out[start * size:end * size])

    def read(self, offset: int, size: int) -> Bytes:
        out = np.empty(size, np.uint8)
        self.fill(offset, out)
        return out.data

    def array(self, offset: int, dtype: np.dtype, shape: Sequence[int]) -> np.ndarray:
        size = size_of(dtype, shape)
        k = bisect_right(self.begins, offset) - 1
        # Copy small arrays, so that they do not keep a piece open.
        if size >= WORTH_VIEWING and offset + size <= self.begins[k + 1]:
            (piece, at, _), = self.pieces(offset, size)
            return piece.array(at, dtype, shape)
        array = self.copy(offset, dtype, shape)
        array.flags.writeable = False
        return array

    view = array

    def own(self, offset: int, dtype: np.dtype, shape: Sequence[int]) -> np.ndarray:
        return self.copy(offset, dtype, shape)


def groups(starts: np.ndarray, unit: int) -> np.ndarray:
    """Return where parts begin, for items of which item r goes from starts[r] to starts[r + 1]: one item a part, or as many as fit unit bytes."""
    begins = starts[:-1]
    if unit > 0 and len(begins) > 0:
        number = (begins - begins[0]) // unit
        begins = begins[np.append(True, number[1:] != number[:-1])]
    return np.unique(begins[begins < starts[-1]])


class FarShard(FarFile):
    """An uncompressed remote shard.

    Its head is the header with all tables, which the shard's checksum covers. Each other part consists of blocks of a field, which have
    checksums in the index. A small shard is all head.

    block_checksum: checksums of the shard's blocks, I64 [blocks, fields]. unit: the size of a part, which has at least one block.
    """

    def __init__(self, fetcher: Fetcher, manifest: Manifest, number: int, entry: FileEntry, unit: int, block_checksum: np.ndarray):
        super().__init__(fetcher, manifest.shard_name(number), entry, unit)
        self.block_checksum = block_checksum.astype(np.uint64)
        self.first = number * manifest.blocks_per_shard
        self.keys: Dict[int, str] = {}  # the key of each segment
        self.fields = {field.tensor: field for field in manifest.fields.values()}
        offsets = sum(bytes_of("I64", (field.capacity + 1 if field.encoding == JPEG else 1,)) for field in manifest.fields.values()
                      if field.encoding == JPEG or field.storage == FLAT)
        tables = (offsets + sum(bytes_of(dtype, shape) for _, dtype, shape in manifest.tables())) * len(block_checksum)
        self.expected = min(self.size, HEADER + tables)
        self.whole = self.size <= max(unit, self.expected)
        data = self.load_head()
        header = self.header_of(data)
        self.ranges = self.ranges_of(header)
        if not self.whole:
            self.lay_out(header, data)

    @property
    def head(self) -> Part:
        if self.whole:
            return Part(f"{self.checksum}-0-{self.size:x}", 0, self.size, self.check_head)
        return Part(f"{self.checksum}-head", 0, 0, self.check_head, self.get_head)

    def header_of(self, data: Bytes) -> Header:
        """Return the header from the bytes of the head, or more bytes; raise DamagedError if it is damaged."""
        return read_header(lambda offset, size: data[offset:offset + size], self.size, self.path)

    def ranges_of(self, header: Header) -> List[Tuple[int, int]]:
        """Return the bytes of the file that the head consists of, in as few ranges as possible."""
        if self.whole:
            return [(0, self.size)]
        if not header.tensors:
            raise DamagedError("its header has no tensors", self.path)
        ranges = [(0, min(tensor.begin for tensor in header.tensors.values()))]
        for begin, end in sorted((tensor.begin, tensor.end) for name, tensor in header.tensors.items() if name not in self.fields):
            if begin == ranges[-1][1]:
                ranges[-1] = ranges[-1][0], end
            elif begin < end:
                ranges.append((begin, end))
        return ranges

    def get_head(self) -> bytes:
        """Fetch the head, with one request if the header is not much larger than expected and the fields are no larger than the tables."""
        data = bytes(self.fetcher.request(self.name, 0, self.expected, self.size))
        need = PREFIX + int.from_bytes(data[:PREFIX], "little")
        if need > self.size or need > HEADER_MAX:
            raise WrongBytes("its header is damaged")
        if need > len(data):
            data += self.fetcher.request(self.name, len(data), need, self.size)
        try:
            ranges = self.ranges_of(self.header_of(data))
        except DamagedError as error:
            raise WrongBytes(error.fault) from None
        parts: List[Bytes] = []
        for begin, end in ranges:
            parts.append(data[begin:end])
            if end > len(data):
                parts.append(self.fetcher.request(self.name, max(begin, len(data)), end, self.size))
        return b"".join(parts)

    def check_head(self, data: Bytes) -> Optional[str]:
        """Return what is wrong with the bytes of the head, or None."""
        try:
            header = self.header_of(data)
            ranges = self.ranges_of(header)
            if sum(end - begin for begin, end in ranges) != len(data):
                return "its header has another size than expected"
            for name, starts in self.starts_of(header, data) if self.whole else ():
                fault = self.check_blocks(name, starts, data, 0)
                if fault is not None:
                    return fault
            read = functools.partial(read_ranges, data, ranges)
            found = digest_of(checksums(read, header.tensors, list(self.fields), self.block_checksum))
        except DamagedError as error:
            return error.fault
        return None if found == self.checksum else "wrong checksum of its header and tables"

    def starts_of(self, header: Header, head: Bytes) -> Iterator[Tuple[str, np.ndarray]]:
        """Yield for each field's tensor, in the order of the file, where its blocks begin, and the end: I64 [blocks + 1]."""
        count = len(self.block_checksum)
        for name, tensor in sorted(header.tensors.items(), key=lambda item: item[1].begin):
            field = self.fields.get(name)
            if field is None:
                continue
            if field.encoding == JPEG or field.storage == FLAT:
                starts = self.offsets_of(header, head, field, tensor.end - tensor.begin)
            else:
                starts = np.arange(count + 1) * ((tensor.end - tensor.begin) // count)
            yield name, starts + tensor.begin

    def offsets_of(self, header: Header, head: Bytes, field: Field, size: int) -> np.ndarray:
        """Return where the blocks of a field of `size` bytes begin, and the end: I64 [blocks + 1]; raise DamagedError if its table is damaged."""
        count, files = len(self.block_checksum), field.encoding == JPEG
        place = header.tensors.get(f"{field.name}_offsets")
        if place is None or (place.dtype, place.shape) != ("I64", (count, field.capacity + 1) if files else (count + 1,)):
            raise DamagedError(f"no offsets of {field.tensor}", self.path)
        table = np.frombuffer(read_ranges(head, self.ranges_of(header), place.begin, place.end - place.begin), "<i8").reshape(place.shape)
        unit = 1 if files else field.step_bytes
        starts = np.append(table[:, 0], size) if files else table
        if starts[0] != 0 or (np.diff(starts) < 0).any() or starts[-1] != size // unit:
            raise DamagedError(f"the offsets of {field.tensor} are not ascending or exceed it", self.path)
        return np.asarray(starts * unit)

    def lay_out(self, header: Header, head: Bytes) -> None:
        """Set where the segments begin."""
        self.starts = dict(self.starts_of(header, head))
        inside = 0
        places = []
        for begin, end in self.ranges:
            places.append((begin, inside))
            inside += end - begin
        for starts in self.starts.values():
            places += [(begin, -1) for begin in groups(starts, self.unit).tolist()]
        places.sort()
        self.begins = [begin for begin, _ in places] + [self.size]
        self.inside = [inside for _, inside in places]

    def part(self, k: int) -> Part:
        begin, end = self.begins[k], self.begins[k + 1]
        name = next(name for name, starts in self.starts.items() if starts[0] <= begin < starts[-1])
        key = self.keys.get(k)
        if key is None:
            key = self.keys[k] = self.key_of(name, begin, end)
        return Part(key, begin, end, lambda data: self.check_blocks(name, self.starts[name], data, begin))

    def key_of(self, name: str, begin: int, end: int) -> str:
        """Return the key of blocks: a digest of their checksums and sizes, because the bytes were compared with these before they get the key."""
        starts = self.starts[name]
        first, stop = rows_of(starts, begin, end)
        sums = np.ascontiguousarray(self.block_checksum[first:stop, list(self.fields).index(name)])
        return f"{checksum.digest(checksum.xxh3([sums, np.diff(starts[first:stop + 1])]))}-{end - begin:x}"

    def check_blocks(self, name: str, starts: np.ndarray, data: Bytes, begin: int) -> Optional[str]:
        """Compare the blocks of a field in the bytes from begin on with their checksums; return what is wrong, or None."""
        column = list(self.fields).index(name)
        view = memoryview(data)
        for row in range(*rows_of(starts, begin, begin + len(data))):
            block = view[int(starts[row]) - begin:int(starts[row + 1]) - begin]
            if checksum.xxh3(block) != int(self.block_checksum[row, column]):
                return f"block {self.first + row} of {self.fields[name].name}: wrong checksum"
        return None


def rows_of(starts: np.ndarray, begin: int, end: int) -> Tuple[int, int]:
    """Return the first of the blocks between two offsets, and the end of these blocks."""
    return int(np.searchsorted(starts, begin)), int(np.searchsorted(starts, end, "right")) - 1


def read_ranges(data: Bytes, ranges: Sequence[Tuple[int, int]], offset: int, size: int) -> Bytes:
    """Return bytes of a file of which data has some ranges; size may be 0."""
    inside = 0
    for begin, end in ranges:
        if begin <= offset and offset + size <= end:
            return data[inside + offset - begin:inside + offset - begin + size]
        inside += end - begin
    raise DamagedError("its tables are not at their places")


class FarFrames(FarFile):
    """A compressed remote shard.

    Its head is the seek table at its end. Each other part consists of frames, which have checksums of zstd: these detect transfer errors, but
    not whether the bytes belong to this dataset. A small shard is all head.

    known: a checksum of what is known of the shard beforehand; keys begin with it.
    """

    def __init__(self, fetcher: Fetcher, manifest: Manifest, number: int, entry: FileEntry, unit: int, known: str):
        super().__init__(fetcher, manifest.shard_name(number), entry, max(unit, LEAST_FRAMES))
        self.known = known
        can_decompress(self.path)
        self.whole = self.size <= self.unit
        data = self.load_head()
        self.offset, self.content = self.table_of(data)
        if not self.whole:
            frames = groups(np.array(self.offset, np.int64), self.unit).tolist()
            self.begins = [*frames, self.offset[-1], self.size]
            self.inside = [-1] * len(frames) + [0]

    @property
    def head(self) -> Part:
        if self.whole:
            return Part(f"{self.checksum}-0-{self.size:x}", 0, self.size, self.check_head)
        return Part(f"{self.known}-tail", 0, 0, self.check_head, self.get_head)

    def part(self, k: int) -> Part:
        begin, end = self.begins[k], self.begins[k + 1]
        check = functools.partial(self.check_frames, begin=begin, offset=self.offset, content=self.content)
        return Part(f"{self.known}-{begin:x}-{end:x}", begin, end, check, frames=True)

    def table_of(self, data: Bytes) -> Tuple[List[int], List[int]]:
        """Return the seek table, from the last bytes of the file."""
        first = self.size - len(data)
        return read_table(lambda offset, size: data[offset - first:offset - first + size] if offset >= first else b"", self.size, self.path)

    def get_head(self) -> bytes:
        """Fetch the seek table, usually with one request."""
        data = bytes(self.fetcher.request(self.name, max(0, self.size - TAIL), self.size, self.size))
        size = table_size(data)
        if size > self.size:
            raise WrongBytes("no seek table at the end")
        if size > len(data):
            data = bytes(self.fetcher.request(self.name, self.size - size, self.size - len(data), self.size)) + data
        return data[len(data) - size:]

    def check_head(self, data: Bytes) -> Optional[str]:
        """Return what is wrong with the bytes of the head, or None."""
        try:
            offset, content = self.table_of(data)
        except (DamagedError, struct.error) as error:
            return str(getattr(error, "fault", "its seek table is damaged"))
        if not self.whole:
            return None
        ends = [*offset, self.size]
        if digest_of([checksum.xxh3(data[begin:end]) for begin, end in zip(ends, ends[1:])]) == self.checksum:
            return None
        return self.check_frames(data, 0, offset, content) or "wrong checksum"

    @staticmethod
    def check_frames(data: Bytes, begin: int, offset: List[int], content: List[int]) -> Optional[str]:
        """Decompress the frames in the bytes from begin on, which compares them with their checksums; return what is wrong, or None."""
        view = memoryview(data)
        first, stop = bisect_left(offset, begin), bisect_right(offset, begin + len(data)) - 1
        for i in range(first, stop):
            out = np.empty(content[i + 1] - content[i], np.uint8)
            fault = decompress_into(view[offset[i] - begin:offset[i + 1] - begin], out)
            if fault is not None:
                return fault.format(f"frame {i}")
        return None
