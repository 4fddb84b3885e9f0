"""Fixed-size blocks: what a stored dataset and its other epochs have in common."""
from __future__ import annotations

from typing import Any, Dict, Iterator, List, SupportsIndex, Union, overload

from . import segments
from .arguments import integer
from .stored import BlockOptions, Stored

# A block: arrays by name, and the list "ids".
Block = Dict[str, Any]


class Blocks:
    """len(blocks), blocks[i], blocks[-1], blocks[2:5] (a list), and iteration over all of them.

    A block is a dict of

        each field       [T, ...]       of the field's type; steps behind the last sequence are padding
        each attribute   [S]            I64 or F64: of the sequence in each place; 0 where unused or failed
        cu_seqlens       I32 [S + 1]    start of each sequence, then the end of the last one, which the tail repeats
        num_sequences    I32            places that are used, those of failed sequences included
        sequence         I64 [S]        row of the table of sequences; -1 where unused, or where the sequence failed while packing
        length           I32 [S]        steps; 0 where unused or failed
        source_start     I64 [S]        first step within the sequence; only where some sequence was cut
        ids              list of S str  "" where unused or failed; unless ids=False
        segment_ids      I32 [T]        k + 1 in the steps of the sequence k of the block, 0 elsewhere; if stored, or on request
        position_ids     I32 [T]        counted from the start of each sequence (or piece of one), 0 elsewhere; on request
        mask             BOOL [T]       true in the steps of sequences; on request

    With decode=False fields that are encoded come under other names, as they are kept: NAME_jpeg, a list of T JPEG files, U8 [bytes]
    each, of which those without bytes are zeros; NAME_delta, U8 [T, H, W, 3], differences.
    """

    dataset: Stored
    options: BlockOptions

    def __len__(self) -> int:
        return self.dataset.info.blocks

    @overload
    def __getitem__(self, key: SupportsIndex) -> Block: ...

    @overload
    def __getitem__(self, key: slice) -> List[Block]: ...

    def __getitem__(self, key: Union[SupportsIndex, slice]) -> Union[Block, List[Block]]:
        if isinstance(key, slice):
            return [self.block(i) for i in range(*key.indices(len(self)))]
        i = integer("the index of a block is an integer or a slice (for sequences use sequence(id), for fields block[name])", key)
        if not -len(self) <= i < len(self):
            raise IndexError(f"block {i} of {len(self)}")
        return self.block(i % len(self))

    def __iter__(self) -> Iterator[Block]:
        return map(self.block, range(len(self)))

    def __contains__(self, key: object) -> bool:
        # Python would read all blocks and compare arrays.
        raise TypeError("cannot search for blocks; for sequences use `id in dataset.sequences`")

    def block(self, i: int) -> Block:
        raise NotImplementedError

    def complete(self, block: Block) -> Block:
        """Adds the arrays that follow from a block's tables."""
        used = int(block["num_sequences"])
        places = block["cu_seqlens"][:used], block["length"][:used], self.dataset.T
        if self.options.segment_ids and "segment_ids" not in block:
            block["segment_ids"] = segments.segment_ids(*places)
        if self.options.position_ids:
            block["position_ids"] = segments.position_ids(*places)
        if self.options.mask:
            block["mask"] = segments.mask(*places)
        if self.options.ids:
            block["ids"] = self.dataset.sequences.ids(block["sequence"])
        return block
