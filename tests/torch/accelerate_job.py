"""Two epochs under Accelerate, the second one broken off and gone on with in two ways: accelerate_job.py DATA FOLDER, on each rank.

Leaves in FOLDER/RANK.json: {"epochs": [[the sequences of each step], ...], "rest": [those after the restart], "skipped": [those after
one as the Trainer does it], "refused": [what samplers say that Accelerate would misread]}.
"""
import importlib.util
import json
import os
import sys
from types import SimpleNamespace

import torch
from accelerate import Accelerator, skip_first_batches
from torch.utils.data import DataLoader

from bload._core.errors import SamplerError
from bload.torch import BlockDataset, BlockSampler
from packed import sequences_of

BROKEN = 3  # steps

# Debian's torch is older than these, which Accelerate calls to find a rank's device.
if not hasattr(torch.cpu, "device_count"):
    torch.cpu.device_count = lambda: 1
    torch.cpu.set_device = lambda device: None


def per_step(batch):
    return [sequences_of({name: value[b] for name, value in batch.items()}) for b in range(len(batch["sequence"]))]


def prepared(accelerator, data, **options):
    dataset = BlockDataset(data)
    sampler = BlockSampler(dataset, **options)
    return sampler, accelerator.prepare(DataLoader(dataset, batch_size=dataset.batch_size, sampler=sampler))


def skipped(accelerator, data):
    """What is left of the second epoch when a Trainer goes on there: its callbacks and Accelerate's calls in its order."""
    from bload.transformers import EpochCallback
    _, loader = prepared(accelerator, data)
    callback, arguments = EpochCallback(), SimpleNamespace(remove_unused_columns=False, gradient_accumulation_steps=1)
    state = SimpleNamespace(global_step=len(loader) + BROKEN, epoch=1 + BROKEN / len(loader))
    callback.on_train_begin(arguments, state, None, train_dataloader=loader)
    callback.on_epoch_begin(arguments, state, None, train_dataloader=loader)
    loader = skip_first_batches(loader, BROKEN)
    loader.set_epoch(1)
    return [per_step(batch) for batch in loader]


def refused(accelerator, data):
    """What comes of a rank's sampler, and of one whose steps are no multiple of Accelerate's."""
    said = []
    for options in ({"num_replicas": 2, "rank": accelerator.process_index}, {"num_replicas": 1, "batch_size": 1}):
        sampler, loader = prepared(accelerator, data, **options)
        if "batch_size" in options:
            sampler.load_state_dict(sampler.state_dict(consumed=1))
        try:
            said.append(f"{len(list(loader))} batches")
        except SamplerError as error:
            said.append(str(error))
    return said


def main(data, folder):
    accelerator = Accelerator(cpu=True)
    sampler, loader = prepared(accelerator, data)
    epochs, state = [], None
    for epoch in range(2):
        loader.set_epoch(epoch)
        sampler.set_epoch(epoch)
        epochs.append([])
        for step, batch in enumerate(loader, 1):
            epochs[-1].append(per_step(batch))
            if (epoch, step) == (1, BROKEN):
                state = sampler.state_dict(consumed=step * accelerator.num_processes * sampler.batch_size)
    sampler, loader = prepared(accelerator, data)
    sampler.load_state_dict(state)
    loader.set_epoch(state["epoch"])
    rest = [per_step(batch) for batch in loader]
    left = {"epochs": epochs, "rest": rest, "refused": refused(accelerator, data)}
    if importlib.util.find_spec("transformers"):
        left["skipped"] = skipped(accelerator, data)
    with open(os.path.join(folder, f"{accelerator.process_index}.json"), "w") as file:
        json.dump(left, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
