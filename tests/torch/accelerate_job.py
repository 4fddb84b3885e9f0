"""Two epochs under Accelerate, the second one broken off and gone on with: accelerate_job.py DATA FOLDER, on each rank.

Leaves in FOLDER/RANK.json: {"epochs": [[the sequences of each step], ...], "rest": [those after the restart]}.
"""
import json
import os
import sys

import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader

from bload.torch import BlockDataset, BlockSampler
from packed import sequences_of

BROKEN = 3  # steps

# Debian's torch is older than these, which Accelerate calls to find a rank's device.
if not hasattr(torch.cpu, "device_count"):
    torch.cpu.device_count = lambda: 1
    torch.cpu.set_device = lambda device: None


def per_step(batch):
    return [sequences_of({name: value[b] for name, value in batch.items()}) for b in range(len(batch["sequence"]))]


def prepared(accelerator, data):
    dataset = BlockDataset(data)
    sampler = BlockSampler(dataset)
    return sampler, accelerator.prepare(DataLoader(dataset, batch_size=dataset.batch_size, sampler=sampler))


def main(data, folder):
    accelerator = Accelerator(cpu=True)
    sampler, loader = prepared(accelerator, data)
    epochs, state = [], None
    for epoch in range(2):
        loader.set_epoch(epoch)
        epochs.append([])
        for step, batch in enumerate(loader, 1):
            epochs[-1].append(per_step(batch))
            if (epoch, step) == (1, BROKEN):
                state = sampler.state_dict(consumed=step * accelerator.num_processes * sampler.batch_size)
    sampler, loader = prepared(accelerator, data)
    sampler.load_state_dict(state)
    loader.set_epoch(state["epoch"])
    rest = [per_step(batch) for batch in loader]
    with open(os.path.join(folder, f"{accelerator.process_index}.json"), "w") as file:
        json.dump({"epochs": epochs, "rest": rest}, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
