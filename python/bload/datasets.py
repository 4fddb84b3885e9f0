"""Blocks of tokens as a Dataset of Hugging Face's package datasets, from which TRL's SFTTrainer trains."""
from __future__ import annotations

from typing import Any, Dict, List, Optional, Sequence

import numpy as np

from . import contracts
from ._core.base import BaseDataset
from ._core.errors import DependencyError, Error, OptionError
from ._core.opening import open

__all__ = ["filled", "packed"]

try:
    import datasets
except ImportError as error:
    raise DependencyError("bload.datasets needs the package datasets: pip install 'bload[datasets]'") from error


class Examples:
    """The transform of a Dataset, which makes examples from the numbers of blocks."""

    def __init__(self, dataset: BaseDataset, field: str, labels: Optional[str], loss_mask: Optional[str], attributes: Sequence[str]):
        self.dataset, self.field, self.labels, self.loss_mask, self.attributes = dataset, field, labels, loss_mask, tuple(attributes)

    def __call__(self, rows: Dict[str, List[int]]) -> Dict[str, List[Any]]:
        found = [contracts.trl(self.dataset[number], self.field, self.labels, loss_mask=self.loss_mask, attributes=self.attributes)[0]
                 for number in rows["block"]]
        return {name: [example[name] for example in found] for name in (found[0] if found else ())}


def filled(dataset: BaseDataset) -> np.ndarray:
    """Return the numbers of the blocks with a sequence that did not fail while packing: I64 [n]."""
    index, failed = dataset._index, dataset.manifest.get("failed", 0)
    sound = np.ones(index.pieces, np.int64)
    if failed:
        rows = [row for row, status in enumerate(dataset.sequences["status"]) if status == "failed"]
        sound[np.isin(index.sequence, rows)] = 0
    before = np.concatenate(([0], np.cumsum(sound)))
    pointers = before[index.pointers(0, index.blocks)]
    return np.flatnonzero(pointers[1:] > pointers[:-1])


def packed(path: Any, field: str = "tokens", labels: Optional[str] = None, *, loss_mask: Optional[str] = None,
           attributes: Sequence[str] = ()) -> "datasets.Dataset":
    """Return the blocks of a dataset or view as the examples that SFTTrainer makes when it packs.

        training = SFTConfig(padding_free=True, max_length=None, remove_unused_columns=False,
                             dataset_kwargs={"skip_prepare_dataset": True})
        SFTTrainer(model, training, train_dataset=bload.datasets.packed("dataset"))

    Rows are made when they are read; only 8 bytes per block are held in memory. The Dataset can be shuffled, selected from, pickled and read
    by workers; map() and save_to_disk() would write all of it. Blocks without a sequence are left out, because SFTTrainer's collator fails on
    an empty row: there may be fewer rows than blocks.

    Parameters
    ----------
    path : path-like or str
        A dataset or view, or its URL.
    field : str
        The field with the tokens.
    labels, loss_mask : str, optional
        Fields with one value for each token; see bload.contracts.
    attributes : sequence of str
        Attributes of the sequences to add, which `bload pack --keep weight:number` stores.

    Returns
    -------
    datasets.Dataset
        A row for each block, with lists of int: input_ids, the tokens of the block's sequences without padding, and seq_lengths, whose sum
        is their number. With labels, loss_mask or an overlap of the dataset also labels, -100 where nothing is learned. For each attribute a
        list with a value for each of seq_lengths.

    Raises
    ------
    OptionError
        There is no such field or attribute, or the field has not one integer per step.
    Error
        No block has a sequence.
    """
    dataset = open(path, ids=False, fields=[name for name in (field, labels, loss_mask) if name])
    for name, known_field in dataset.fields.items():
        if name in dataset._options.fields and known_field.own:
            raise OptionError(f"field \"{name}\" has steps of its own, not one integer per step", dataset.path)
        if name in dataset._options.fields and (known_field.shape or known_field.dtype.kind not in "iub"):
            raise OptionError(f"field \"{name}\" is {known_field.dtype}{list(known_field.shape)}, not one integer per step", dataset.path)
    for name in attributes:
        if name not in dataset._info.attributes:
            raise OptionError(f"no attribute \"{name}\"; the attributes are: {', '.join(dataset._info.attributes) or 'none'}", dataset.path)
    numbers = filled(dataset)
    if len(numbers) == 0:
        raise Error("no block has a sequence", dataset.path)
    return datasets.Dataset.from_dict({"block": numbers}).with_transform(Examples(dataset, field, labels, loss_mask, attributes))
