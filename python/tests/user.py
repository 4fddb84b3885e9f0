"""A user's program with everything that is public, with types: test_types.py checks it as mypy --strict does, and runs it.

    user.py DATASET VIEW        with --torch also bload.torch
"""
import pathlib
import sys
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Optional, Tuple, Union

import numpy as np

import bload
from bload import contracts, sampler
from bload.errors import DependencyError

if TYPE_CHECKING:
    from bload.torch import BlockDataset, BlockSampler


def opened(path: str) -> Tuple[Union[bload.Dataset, bload.View], int]:
    dataset = bload.open(pathlib.Path(path), verify=True, fields=None, ids=True, segment_ids=True, position_ids=True, mask=True,
                         decode=True, writable=False, open_shards=8, resident=1 << 20, cache=None, cache_size=None, read_ahead=1 << 20,
                         connections=4, timeout=10, retries=3, storage_options={"anon": True})
    base: bload.BaseDataset = dataset
    sizes: List[int] = [len(base), base.T, base.S, base.world_size, base.batch_size, *base.epochs]
    fields: Dict[str, bload.Field] = base.fields
    field: bload.Field = next(iter(fields.values()))
    texts: List[str] = [field.name, field.kind, field.stored, field.encoding, base.path, repr(base), base._repr_html_()]
    shape: Tuple[int, ...] = field.shape
    dtype: "np.dtype[Any]" = field.dtype
    manifest: Dict[str, Any] = base.manifest
    assert texts and dtype and manifest and len(shape) >= 0
    return dataset, sum(sizes)


def blocks(dataset: bload.BaseDataset) -> int:
    one: bload.Block = dataset[0]
    some: List[bload.Block] = dataset[0:2]
    all_blocks: Iterator[bload.Block] = iter(dataset)
    epoch: bload.Blocks = dataset.epoch(1, window=4, seed=3)
    names: List[str] = one["ids"]
    steps: Dict[str, Any] = dataset.sequence(names[0], partial=True)
    return len(some) + sum(1 for _ in all_blocks) + len(epoch) + len(epoch[0]) + len(steps) + len(names)


def planned(lengths: "np.ndarray[Any, np.dtype[np.int64]]") -> int:
    plan: bload.Plan = bload.plan(lengths, "longest", world_size=2, cost="1,2e-5", columns={"bytes": (1 << 20, lengths)}, group=["a"] * len(lengths), seed=7)
    one: bload.PlannedBlock = plan[0]
    some: List[bload.PlannedBlock] = plan[0:2]
    mine: List[int] = [int(number) for block in plan.blocks_of_rank(1) for number in plan[block].sequence]
    text: bytes = plan.to_table()
    waits: float = plan.imbalance + plan.efficiency
    return len(plan) + len(some) + len(mine) + len(text) + plan.lower_bound + len(one.start) + int(waits)


def divided(lengths: "np.ndarray[Any, np.dtype[np.int64]]") -> int:
    partition: bload.Partition = bload.partition(lengths, 2, max_tokens=int(lengths.max()), cost="1,2e-5", sync="micro", group=["a"] * len(lengths), multiple=2)
    first: List[int] = partition.assignment[0][0]
    waits: float = partition.lost - partition.bound
    return len(first) + partition.micro_batches + len(partition.rank) + int(waits)


def table(dataset: bload.BaseDataset) -> Tuple[int, str]:
    rows: bload.Sequences = dataset.sequences
    row: Dict[str, str] = rows[0]
    part: List[Dict[str, str]] = rows[0:3]
    columns: Tuple[str, ...] = rows.columns
    lengths: "np.ndarray[Any, np.dtype[np.int64]]" = rows["length"]
    found: int = rows.find(row["id"])
    there: bool = row["id"] in rows
    html: str = rows._repr_html_()
    for told in rows:
        there = there and set(told) == set(columns)
    try:
        frame = rows.to_pandas()
        count = len(frame)
    except DependencyError as error:
        fault: str = error.fault
        count = len(fault)
    return found + len(part) + int(lengths.sum()) + there + count, html


def order(dataset: bload.BaseDataset) -> List[int]:
    source = sampler.EpochBlocks(dataset, window=4, seed=1)
    numbers = sampler.BlockSampler(source, num_replicas=1, rank=0, shuffle=True, seed=1, batch_size=1, remainder="pad")
    numbers.set_epoch(1)
    state: Dict[str, Any] = numbers.state_dict()
    numbers.load_state_dict(state)
    given: List[int] = list(numbers)
    block: bload.Block = source[given[0]]
    lost: int = numbers.padded + numbers.dropped
    arguments: Dict[str, Any] = contracts.flash_attention(block)
    assert arguments and lost >= 0
    return given


def sources(view: bload.View) -> List[str]:
    found: List[bload.Source] = view.sources
    weights: List[Optional[float]] = [source.weight for source in found]
    share: float = sum(source.share for source in found)
    assert len(weights) == len(found) and share > 0
    return [source.name + source.path for source in found]


def faults(path: str) -> List[str]:
    said: List[str] = []
    try:
        bload.open(path + "/nothing")
    except bload.MissingError as error:
        where: Optional[str] = error.path
        said.append(f"{where}: {error.fault}")
    kinds = (bload.OptionError, bload.DamagedError, bload.FormatError, bload.SequenceError, bload.EpochError, bload.SamplerError)
    return said + [kind.__name__ for kind in kinds if issubclass(kind, bload.Error)]


def batches(path: str) -> "Iterator[Dict[str, Any]]":
    from bload.torch import BlockDataset, BlockSampler, collate
    dataset: "BlockDataset" = BlockDataset(path, window=4, ids=True)
    numbers: "BlockSampler" = BlockSampler(dataset, num_replicas=1, rank=0, batch_size=dataset.batch_size)
    for number in numbers:
        yield collate([dataset[number]])


def refused(dataset: bload.BaseDataset, view: bload.View) -> None:
    """Never called. Each line is an error of types: a comment that nothing needs is one, too."""
    steps: str = dataset.T                        # type: ignore[assignment]
    block: List[int] = dataset[0]                 # type: ignore[assignment]
    some: bload.Block = dataset[0:2]              # type: ignore[assignment]
    row: Dict[str, int] = dataset.sequences[0]    # type: ignore[assignment]
    html: bytes = dataset._repr_html_()           # type: ignore[assignment]
    name: int = view.sources[0].name              # type: ignore[assignment]
    bload.open("dataset", field="tokens")         # type: ignore[call-arg]
    dataset.epoch("first")                        # type: ignore[arg-type]
    sampler.BlockSampler(None, remainder=3)       # type: ignore[arg-type]


def main() -> None:
    dataset, size = opened(sys.argv[1])
    with dataset:
        print(size, blocks(dataset), table(dataset)[0], len(order(dataset)), planned(dataset.sequences["length"]) > 0, divided(dataset.sequences["length"]) > 0)
    view = bload.open(sys.argv[2])
    assert isinstance(view, bload.View)
    print(len(sources(view)), blocks(view), table(view)[0], len(faults(sys.argv[1])))
    if "--torch" in sys.argv:
        print(sum(len(batch["ids"]) for batch in batches(sys.argv[1])))


if __name__ == "__main__":
    main()
