"""Fixed-size blocks: the common interface of a stored dataset and its other epochs."""
from __future__ import annotations

from typing import Any, Dict, Iterator, List, SupportsIndex, Tuple, Union, overload

import numpy as np

from . import segments
from .arguments import integer
from .errors import OptionError
from .manifest import CU_SEQLENS_PADDED, REPEATED
from .stored import BlockOptions, BlockStore, DatasetLike

# A block: arrays by name, and the list "ids".
Block = Dict[str, Any]


class Blocks:
    """Blocks by number: len(blocks), blocks[i], blocks[-1], blocks[2:5] (a list), and iteration.

    A block is a dict. T is its number of steps, S its number of slots for sequences.

        each field       [T, ...]       of the field's type; steps outside of sequences are padding
        each attribute   [S]            I64 or F64: the value of the sequence in each slot; 0 where unused or failed
        cu_seqlens       I32 [S + 1]    start of each sequence, then the end of the last one, repeated to the end of the row
        cu_seqlens_padded I32 [S + 1]   cu_seqlens with the end of the last sequence rounded up, so that every sequence has a multiple of 2N
                                        steps; only if the dataset was packed for context parallelism over N ranks (--cp N)
        num_sequences    I32            used slots, including those of failed sequences
        sequence         I64 [S]        row in the table of sequences; -1 where unused, or where the sequence failed while packing
        length           I32 [S]        steps; 0 where unused or failed
        source_start     I64 [S]        first step within the sequence; only if the dataset has cut sequences, or was made with --sequence-slots
        repeated         I32 [S]        steps at the start of a piece that repeat the end of the previous piece as context, and must not be
                                        learned again; only if the dataset has an overlap (--overlap)
        ids              list of S str  "" where unused or failed; absent with ids=False
        segment_ids      I32 [T]        k + 1 in the steps of the block's sequence k, 0 elsewhere; if stored or requested
        position_ids     I32 [T]        0, 1, 2... from the start of each sequence or piece of one, 0 elsewhere; if requested
        mask             BOOL [T]       true in the steps of sequences; if requested

    A field with steps of its own is NAME [capacity, ...], padded at the end, with the table NAME_cu_seqlens, I32 [S + 1]: the sequence in slot
    k has the steps NAME_cu_seqlens[k] to NAME_cu_seqlens[k + 1]. With pad=False it is NAME [n, ...], without padding, and NAME_offsets,
    I32 [2], is [0, n].

    With decode=False, encoded fields are returned as they are stored, under other names: NAME_jpeg, a list of T JPEG files, U8 [bytes] each
    (an empty file stands for zeros), or NAME_delta, U8 [T, H, W, 3 or 1], differences.

    The caller owns the dict and its arrays. Arrays are read-only where they view a mapped file; see `writable` of bload.open.

    Raises
    ------
    IndexError
        There is no such block.
    TypeError
        The index is neither an integer nor a slice.
    """

    dataset: DatasetLike
    _options: BlockOptions

    def __len__(self) -> int:
        return self.dataset._info.blocks

    @overload
    def __getitem__(self, key: SupportsIndex) -> Block: ...

    @overload
    def __getitem__(self, key: slice) -> List[Block]: ...

    def __getitem__(self, key: Union[SupportsIndex, slice]) -> Union[Block, List[Block]]:
        if isinstance(key, slice):
            return [self._block(i) for i in range(*key.indices(len(self)))]
        i = integer("a block index must be an int or a slice (for a sequence use sequence(id), for a field block[name])", key)
        count = len(self)
        if not -count <= i < count:
            raise IndexError(f"no block {i}: there are {count}")
        return self._block(i % count)

    def steps(self, block: SupportsIndex, field: str, numbers: Any) -> Any:
        """Return some steps of a field of one block. Only these are read, so a rank of context parallelism need not read the others.

            index = contracts.context_parallel(block, cp=4, rank=1)["index"]
            frames = dataset.steps(7, "frames", index)

        Parameters
        ----------
        block : int
            The number of the block.
        field : str
            A field that the dataset was opened with, without steps of its own.
        numbers : array of int
            The numbers of the steps in the block, from 0, in any order. Runs of consecutive numbers are read together.

        Returns
        -------
        array [n, ...]
            The steps in the order of the numbers, padding included. With decode=False a JPEG field is a list of n files, U8 [bytes] each.

        Raises
        ------
        IndexError
            There is no such block or step.
        OptionError
            There is no such field, or it has steps of its own.
        DamagedError
            A stored block is damaged. With verify=True whole blocks are read and compared.
        """
        i, count, T = integer("a block index must be an int", block), len(self), self.dataset.T
        if not -count <= i < count:
            raise IndexError(f"no block {i}: there are {count}")
        if field not in self._options.fields or field in self.dataset._info.own:
            own = field in self.dataset._info.own
            raise OptionError(f"the field \"{field}\" {'has steps of its own' if own else 'was not opened'}: name a field that has a step for "
                              "each step of a block", self.dataset.path)
        given = np.asarray(numbers)
        if given.ndim != 1 or given.dtype.kind not in "iu" and len(given):
            raise TypeError("the numbers of steps must be integers, in an array of one dimension")
        if len(given) and not 0 <= given.min() <= given.max() < T:
            raise IndexError(f"no step {given.min() if given.min() < 0 else given.max()}: a block has {T}")
        ends = np.append(np.flatnonzero(np.diff(given.astype(np.int64)) != 1) + 1, len(given)) if len(given) else np.zeros(0, np.int64)
        runs = [(int(given[begin]), int(given[begin]) + end - begin) for begin, end in zip([0, *ends[:-1].tolist()], ends.tolist())]
        return self._runs(i % count, field, runs)

    def _runs(self, i: int, field: str, runs: List[Tuple[int, int]]) -> Any:
        """Return the steps of block i in these ranges, first to end, one after the other."""
        raise NotImplementedError

    def __iter__(self) -> Iterator[Block]:
        return map(self._block, range(len(self)))

    def __contains__(self, key: object) -> bool:
        # Without this method Python would read all blocks and compare their arrays.
        raise TypeError("cannot search for blocks; for sequences use `id in dataset.sequences`")

    def _block(self, i: int) -> Block:
        """Return block i; 0 <= i < len(self)."""
        raise NotImplementedError

    def _needs(self, i: int) -> List[Tuple[BlockStore, int]]:
        """Return the stored blocks that block i is made of, each with its dataset, so that they can be prefetched or verified."""
        raise NotImplementedError

    def _complete(self, block: Block) -> Block:
        """Return the block with the requested entries that follow from its tables: segment_ids, position_ids, mask, ids."""
        options, overlap = self._options, self.dataset._info.overlap
        if self.dataset._info.padded_to:
            block[CU_SEQLENS_PADDED] = segments.padded(block["cu_seqlens"], block["num_sequences"], self.dataset._info.padded_to)
        if overlap:
            first = block["source_start"] if "source_start" in block else np.zeros(self.dataset._info.S, np.int64)
            block[REPEATED] = np.where(first > 0, np.int32(overlap), np.int32(0))
        numbered = (options.segment_ids or self.dataset._info.segment_ids) and "segment_ids" not in block
        if numbered or options.position_ids or options.mask:
            used = int(block["num_sequences"])
            places = block["cu_seqlens"][:used], block["length"][:used], self.dataset.T
            if numbered:
                block["segment_ids"] = segments.segment_ids(*places)
            if options.position_ids:
                block["position_ids"] = segments.position_ids(*places)
            if options.mask:
                block["mask"] = segments.mask(*places)
        if not options.pad:
            block.update((f"{name}_offsets", np.array([0, len(block[name])], np.int32)) for name in options.fields if name in self.dataset._info.own)
        if options.ids:
            block["ids"] = self.dataset.sequences.ids(block["sequence"])
        return block
