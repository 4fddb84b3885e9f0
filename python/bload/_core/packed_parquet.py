"""Write blocks of tokens as Megatron-Bridge's packed Parquet: a row for each block, without padding, except for context parallelism.

    input_ids     list<int32>  the tokens of the block's sequences, one after the other
    loss_mask     list<int8>   for each token 1 if the next one is to be learned; 0 at the end of each sequence
    seq_start_id  list<int32>  where each sequence begins

The reader drops the last token of each sequence, which is a label only, and applies the mask of a token to its label, the next token. So
the mask is shifted by one step from the masks of datasets. The reader fails on a row without any label, so blocks in which no
sequence has two tokens are left out.

For context parallelism over N ranks the reader, with pad_seq_to_mult=2N, needs sequences of a multiple of 2N steps after it dropped their last
tokens. So sequences of a dataset with --cp N are padded to the next multiple and one more, as Megatron-Bridge pads them itself. It takes the
end of a sequence to be the last token that is not the tokenizer's end token, so that should be the --pad-id.

With pad_cu_seqlens, for CUDA graphs, all batches get the shape of the largest one: metadata.json tells the reader its size.
"""
from __future__ import annotations

import fcntl
import json
import os
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Tuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from .arguments import at_least
from .base import BaseDataset
from .errors import DamagedError, Error, OptionError
from .manifest import REPEATED
from .opening import open as open_dataset

RECORD = "bload.json"       # identifies the dataset and options
METADATA = "metadata.json"  # the reader's packed_metadata_path
PACKING = b"bload.packing"  # the key of a file's Packing in its footer
GROUP_ROWS = 500            # as in files that Megatron-Bridge writes
GROUP_BYTES = 64 << 20      # the most bytes of a row group, unless a block has more, because the reader holds one in memory
STEP_BYTES = 5              # bytes of input_ids and loss_mask per step
PART_BYTES = 256 << 20


class Written(NamedTuple):
    """What was written: files, rows, tokens, and blocks that were left out. made: the files that this run wrote."""
    parts: int
    made: int
    rows: int
    tokens: int
    left_out: int


class Packing(NamedTuple):
    """How rows are filled.

    Steps are tokens without the last one of each sequence. most: sequences of a row. longest: steps of a sequence. shortest: steps of a row.
    """
    rows: int = 0
    sequences: int = 0
    steps: int = 0
    most: int = 0
    longest: int = 0
    shortest: int = 1 << 62

    def with_row(self, length: np.ndarray) -> Packing:
        """Return the counts with another row, whose sequences have these lengths."""
        return self.joined(Packing(1, len(length), int(length.sum()) - len(length), len(length), int(length.max()) - 1,
                                   int(length.sum()) - len(length)))

    def joined(self, other: Packing) -> Packing:
        """Return the counts of both together."""
        return Packing(self.rows + other.rows, self.sequences + other.sequences, self.steps + other.steps, max(self.most, other.most),
                       max(self.longest, other.longest), min(self.shortest, other.shortest))

    def metadata(self, T: int) -> List[Dict[str, float]]:
        """Return the counts under the names that Megatron-Bridge uses."""
        return [{"dataset_max_seqlen": self.longest, "max_samples_per_bin": self.most,
                 "packing_factor": round(self.sequences / self.rows, 2),
                 "packing_efficiency": round(100 * self.steps / self.rows / T, 2),
                 "pack_size": T, "min_packed_seqlen": self.shortest}]


class Layout(NamedTuple):
    """Rows of a row group, and blocks of a file."""
    group: int
    part: int


def layout(T: int, part_bytes: int) -> Layout:
    """Return the sizes of row groups and files in blocks, so that a resumed run cuts them at the same places."""
    group = max(1, min(GROUP_ROWS, GROUP_BYTES // (T * STEP_BYTES)))
    return Layout(group, group * max(1, part_bytes // (group * T * STEP_BYTES)))


def tokens_type(dataset: BaseDataset, field: str) -> Any:
    """Return the type of the tokens; raise OptionError if the field does not exist, or does not contain tokens."""
    if field not in dataset.fields:
        raise OptionError(f"no field \"{field}\"; the fields are: {', '.join(dataset.fields)}", dataset.path)
    dtype, shape = dataset.fields[field].dtype, dataset.fields[field].shape
    if dataset.fields[field].own:
        raise OptionError(f"field \"{field}\" has steps of its own, not one integer per step", dataset.path)
    if dtype.kind not in "iu" or shape:
        raise OptionError(f"field \"{field}\" is {dtype}{list(shape)}, not one integer per step", dataset.path)
    return pa.int32() if dtype.itemsize < 4 or dtype == np.int32 else pa.int64()


def mask_ahead(dataset: BaseDataset, name: str, number: int, values: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Return for each step the loss mask of the next one, 0 at the ends of sequences; raise Error for values other than 0 and 1."""
    if not np.isin(values, (0, 1)).all():
        odd = values[~np.isin(values, (0, 1))][0]
        raise Error(f"block {number}: \"{name}\" has the value {odd}, but a loss mask may only have 0 and 1", dataset.path)
    ahead = np.append(values[1:], 0).astype(np.int8)
    ahead[ends - 1] = 0
    return ahead


class Rows:
    """The rows of a row group while they are collected."""

    def __init__(self, dataset: BaseDataset, field: str, loss_mask: Optional[str]):
        self.dataset, self.field, self.loss_mask = dataset, field, loss_mask
        self.type = tokens_type(dataset, field)
        self.pad = self.dataset.fields[field].pad or 0
        self.packing = Packing()
        self.columns: Dict[str, List[np.ndarray]] = {"input_ids": [], "loss_mask": [], "seq_start_id": []}

    def add(self, number: int) -> None:
        """Add a block, unless no sequence has two tokens."""
        block = self.dataset[number]
        length = block["length"][:int(block["num_sequences"])].astype(np.int64)
        here = length > 0
        start, length = block["cu_seqlens"][:len(here)].astype(np.int64)[here], length[here]
        if length.max(initial=0) < 2:
            return
        # Each sequence takes `room` tokens of the row: its own, then padding.
        multiple = self.dataset._info.padded_to or 1
        room = -(-(length - 1) // multiple) * multiple + 1
        self.packing = self.packing.with_row(room)
        ends = np.cumsum(room)
        within = np.arange(length.sum()) - np.repeat(np.cumsum(length) - length, length)
        steps, places = within + np.repeat(start, length), within + np.repeat(ends - room, length)
        mask = block[self.loss_mask][steps] if self.loss_mask else np.ones(len(steps), np.int8)
        if REPEATED in block:
            repeated = block[REPEATED][:int(block["num_sequences"])][here]
            mask = np.where(within < np.repeat(repeated, length), 0, mask)
        tokens, masks = np.full(ends[-1], self.pad, block[self.field].dtype), np.zeros(ends[-1], mask.dtype)
        tokens[places], masks[places] = block[self.field][steps], mask
        self.columns["input_ids"].append(tokens)
        self.columns["loss_mask"].append(mask_ahead(self.dataset, str(self.loss_mask), number, masks, ends))
        self.columns["seq_start_id"].append(ends - room)

    def table(self) -> Any:
        """Return the rows as a table of Arrow."""
        types = {"input_ids": self.type, "loss_mask": pa.int8(), "seq_start_id": pa.int32()}
        arrays = {}
        for name, rows in self.columns.items():
            offsets = np.cumsum([0, *map(len, rows)])
            values = np.concatenate(rows) if rows else np.zeros(0, np.int8)
            if len(values) > np.iinfo(np.int32).max:
                raise OptionError(f"blocks of {self.dataset.T} steps are too long for Parquet's lists", self.dataset.path)
            arrays[name] = pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), pa.array(values).cast(types[name]))
        return pa.table(arrays)


def sync_folder(path: str) -> None:
    """Flush a folder to the disk, so that a rename in it survives a crash."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def publish(path: str, write: Callable[[Any], None]) -> None:
    """Write a file that gets its name only when it is complete and on the disk."""
    with open(path + ".part", "wb") as file:
        write(file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(path + ".part", path)
    sync_folder(os.path.dirname(path))


def record_of(dataset: BaseDataset, options: Dict[str, Any]) -> Dict[str, Any]:
    """Return the record that identifies the dataset and the options."""
    return {"dataset": dataset.manifest["checksum"], "plan_digest": dataset._info.plan_digest, **options}


def check_record(folder: str, record: Dict[str, Any], remedy: str) -> None:
    """Raise OptionError if the folder was not made from this dataset with these options; `remedy` says what to do."""
    try:
        with open(os.path.join(folder, RECORD), "rb") as file:
            existing = json.load(file)
    except FileNotFoundError:
        raise OptionError(f"contains something else, without {RECORD}: {remedy}", folder) from None
    except ValueError as error:
        raise DamagedError(f"damaged: {error}; {remedy}", os.path.join(folder, RECORD)) from None
    differing = [name for name, value in record.items() if not isinstance(existing, dict) or existing.get(name) != value]
    if differing:
        raise OptionError(f"was made from another dataset or with other options ({', '.join(differing)} differ): {remedy}", folder)


def write_part(rows: Iterator[Rows], path: str, schema: Any) -> None:
    """Write a file of several row groups."""
    def write(file: Any) -> None:
        """Write the row groups, then the packing of the file into its footer."""
        packing = Packing()
        with pq.ParquetWriter(file, schema, compression="zstd") as writer:
            for group in rows:
                packing = packing.joined(group.packing)
                table = group.table()
                if table.num_rows:
                    writer.write_table(table, row_group_size=GROUP_ROWS)
            writer.add_key_value_metadata({PACKING: json.dumps(packing)})
    publish(path, write)


def left_out(path: str, field: str, loss_mask: Optional[str]) -> List[str]:
    """Return the fields and attributes of a dataset that its packed Parquet does not contain."""
    with open_dataset(path, ids=False) as dataset:
        return [name for name in (*dataset.fields, *dataset._info.attributes) if name not in (field, loss_mask)]


def write(path: str, out: str, *, field: str = "tokens", loss_mask: Optional[str] = None, part_bytes: int = PART_BYTES) -> Written:
    """Write a dataset or view of tokens as packed Parquet.

    Files are written to out.part, which is renamed when all are complete. A run that was stopped resumes after the last complete file. A
    folder that is complete is left as it is.

    Parameters
    ----------
    path : str
        The dataset or view.
    out : str
        The folder to write.
    field : str
        The field with the tokens.
    loss_mask : str, optional
        A field that is 1 where a token is to be learned, else 0; by default all tokens are.
    part_bytes : int
        The approximate size of a file before compression; it has at least one row group.

    Returns
    -------
    Written
        The counts of files, rows, tokens and blocks.

    Raises
    ------
    OptionError
        `out` contains something else, or the dataset lacks a field.
    Error
        The loss mask has other values, no block has a sequence of two tokens, or another run is writing.
    """
    at_least("part_bytes", part_bytes, 1)
    with open_dataset(path, ids=False) as dataset:
        for name in (field, loss_mask) if loss_mask else (field,):
            tokens_type(dataset, name)
    with open_dataset(path, ids=False, fields=[field, loss_mask] if loss_mask else field) as dataset:
        record = record_of(dataset, {"field": field, "loss_mask": loss_mask, "part_bytes": part_bytes})
        out = os.path.abspath(out)
        if os.path.lexists(out):
            check_record(out, record, "name another folder")
            return summary(out, dataset, part_bytes, 0)[0]
        making = out + ".part"
        if not os.path.exists(os.path.join(making, RECORD)):
            os.makedirs(making, exist_ok=True)
            if os.listdir(making) not in ([], [RECORD + ".part"]):
                check_record(making, record, "remove it, or name another folder")
            publish(os.path.join(making, RECORD), lambda file: file.write(json.dumps(record, indent=1).encode()))
        with open(os.path.join(making, RECORD), "rb") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise Error("another run is writing this folder", making) from None
            check_record(making, record, "remove it, or name another folder")
            made = write_parts(dataset, making, field, loss_mask, layout(dataset.T, part_bytes))
            done, packing = summary(making, dataset, part_bytes, made)
            if done.rows == 0:
                raise Error("no block has a sequence of two tokens", dataset.path)
            metadata = json.dumps(packing.metadata(dataset.T)).encode()
            publish(os.path.join(making, METADATA), lambda file: file.write(metadata))
            os.rename(making, out)
        sync_folder(os.path.dirname(out))
        return done


def part_names(dataset: BaseDataset, sizes: Layout) -> List[str]:
    """Return the names of the files, whose alphabetical order is the order of the blocks."""
    count = -(-len(dataset) // sizes.part)
    return [f"part-{number:0{max(5, len(str(count - 1)))}}.parquet" for number in range(count)]


def write_parts(dataset: BaseDataset, folder: str, field: str, loss_mask: Optional[str], sizes: Layout) -> int:
    """Write the files that are missing, and return their number."""
    def groups(first: int) -> Iterator[Rows]:
        """Yield the row groups of the file that begins with a block."""
        end = min(first + sizes.part, len(dataset))
        for begin in range(first, end, sizes.group):
            rows = Rows(dataset, field, loss_mask)
            for number in range(begin, min(begin + sizes.group, end)):
                rows.add(number)
            yield rows

    names, made, schema = part_names(dataset, sizes), 0, Rows(dataset, field, loss_mask).table().schema
    own = [RECORD, METADATA, *names]
    strange = sorted(set(os.listdir(folder)) - {*own, *(name + ".part" for name in own)})
    if strange:
        raise OptionError(f"contains another file: {strange[0]}", folder)
    for number, name in enumerate(names):
        path = os.path.join(folder, name)
        if not os.path.exists(path):
            write_part(groups(number * sizes.part), path, schema)
            made += 1
    for name in own:
        if os.path.exists(os.path.join(folder, name + ".part")):
            os.remove(os.path.join(folder, name + ".part"))
    return made


def summary(folder: str, dataset: BaseDataset, part_bytes: int, made: int) -> Tuple[Written, Packing]:
    """Return the counts of a complete folder; raise DamagedError if a file is missing or damaged."""
    rows, tokens, packing = 0, 0, Packing()
    names = part_names(dataset, layout(dataset.T, part_bytes))
    for name in names:
        try:
            metadata = pq.read_metadata(os.path.join(folder, name))
            packing = packing.joined(Packing(*json.loads((metadata.metadata or {})[PACKING])))
        except (OSError, pa.ArrowException, KeyError, TypeError, ValueError) as error:
            raise DamagedError(f"missing or damaged: {str(error)[:200]}", os.path.join(folder, name)) from None
        rows += metadata.num_rows
        for group in range(metadata.num_row_groups):
            tokens += metadata.row_group(group).column(0).num_values
    return Written(len(names), made, rows, tokens, len(dataset) - rows), packing
