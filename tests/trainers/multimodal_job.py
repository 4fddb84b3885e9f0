"""Trains models of multimodal families on each rank: multimodal_job.py SMALLEST FOLDER...; FOLDER has model, and the datasets set and text.

Rank 0 reads set, and rank 1 reads text, whose chats have no media. SMALLEST: whether contracts add a smallest picture or sound. Leaves the
gradients of each rank in FOLDER/gradients-RANK.pt.
"""
import os
import sys

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import multimodal_models as models
import multimodal_sets as sets
from bload.torch import BlockDataset


def main(smallest, *folders):
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    for folder in folders:
        made = models.model(os.path.basename(folder), "sdpa", os.path.join(folder, "model"))
        datasets = [BlockDataset(os.path.join(folder, name), pad=False) for name in ("set", "text")]
        left_out = sets.unused(made, sets.row_of(datasets[0], made))
        for name, parameter in made.named_parameters():
            parameter.requires_grad_(name not in left_out)
        row = sets.row_of(datasets[rank], made, smallest=smallest == "yes")
        parallel = DistributedDataParallel(made)
        for _ in range(2):  # a rank that lacks gradients ends in an error at the second step
            made.zero_grad(set_to_none=True)
            parallel(**row).loss.backward()
        torch.save(torch.cat([parameter.grad.flatten() for parameter in made.parameters() if parameter.requires_grad]),
                   os.path.join(folder, f"gradients-{rank}.pt"))
    dist.destroy_process_group()


if __name__ == "__main__":
    main(*sys.argv[1:])
