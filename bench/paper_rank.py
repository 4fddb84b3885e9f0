"""One rank of the trainings of bench/paper.py, by torch's DistributedDataParallel over gloo on the loopback interface:

    paper_rank.py JOBS.json RANK RANKS

JOBS.json holds a list of trainings, done one after the other; see Data.job there. Of each, rank 0 adds a line to JOBS.json.told:
{"seconds": of every epoch, "processor": the same of the rank's processor time, "updates": in an epoch, "accuracy": 0 to 1 on the test set, or null}.
"""
import datetime
import json
import os
import sys
import time

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["GLOO_SOCKET_IFNAME"] = "lo"

import torch
import torch.distributed as dist
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel
from torch.nn.utils.rnn import pack_sequence
from torch.utils.data import DataLoader

from bload.torch import BlockDataset, BlockSampler


class Recurrent(torch.nn.Module):
    """A GRU that says at every step which class the sequence is of."""

    def __init__(self, inputs, hidden, classes):
        super().__init__()
        self.gru = torch.nn.GRU(inputs, hidden, batch_first=True)
        self.head = torch.nn.Linear(hidden, classes)

    def forward(self, inputs):
        """Logits [steps, classes] of a batch [rows, T, inputs], its steps one after the other, or of a PackedSequence, in its order."""
        states = self.gru(inputs)[0]
        return self.head(states.flatten(0, 1) if torch.is_tensor(states) else states.data)

    def at_the_end(self, packed):
        """Logits [sequences, classes] after the last step of each."""
        return self.head(self.gru(packed)[1][0])


def places(block):
    """(first step, end, label) of every sequence in a block."""
    starts = block["cu_seqlens"].tolist()
    return list(zip(starts, starts[1:], block["label"].tolist()))[:block["num_sequences"]]


def whole_rows(blocks):
    """A batch that a model goes through as it lies, padding and all: (inputs, labels and weights of the steps)."""
    inputs = torch.stack([block["array"] for block in blocks])
    labels, weights = torch.zeros(inputs.shape[:2], dtype=torch.long), torch.zeros(inputs.shape[:2])
    for row, block in enumerate(blocks):
        for first, end, label in places(block):
            labels[row, first:end] = label
            weights[row, first:end] = 1 / (end - first)
    return inputs, labels.flatten(), weights.flatten()


def cut_out(blocks):
    """A batch that is cut where sequences begin, so that each has a state of its own and padding costs nothing."""
    found = [(block["array"][first:end], label) for block in blocks for first, end, label in places(block)]
    if not found:  # blocks that fill up the last batch: a step that does not count
        return pack_sequence([blocks[0]["array"][:1]]), torch.zeros(1, dtype=torch.long), torch.zeros(1)
    packed = pack_sequence([steps for steps, _ in found], enforce_sorted=False)
    of_steps = [(torch.full((len(steps),), label), torch.full((len(steps),), 1 / len(steps))) for steps, label in found]
    labels, weights = (pack_sequence(each, enforce_sorted=False).data for each in zip(*of_steps))
    return packed, labels, weights


def loss_of(model, inputs, labels, weights):
    """The mean over sequences of the mean over their steps: a sequence weighs the same wherever it lies."""
    return (cross_entropy(model(inputs), labels, reduction="none") * weights).sum() / weights.sum().clamp(min=1)


def accuracy(model, test):
    """The part of the test set's sequences whose class is told right after the last step; they are whole in every comparison."""
    right = []
    with torch.no_grad():
        for block in BlockDataset(test):
            packed = pack_sequence([block["array"][first:end] for first, end, _ in places(block)], enforce_sorted=False)
            right.append(model.at_the_end(packed).argmax(1) == block["label"][:block["num_sequences"]])
    return torch.cat(right).float().mean().item()


def train(job, rank, ranks):
    dataset = BlockDataset(job["dataset"])
    torch.manual_seed(job["seed"])
    model = Recurrent(job["inputs"], job["hidden"], job["classes"])
    parallel = DistributedDataParallel(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=job["rate"])
    # Each epoch in random order: of the stored blocks, or of those of the next plan where there are several.
    sampler = BlockSampler(dataset, ranks, rank, seed=job["seed"], batch_size=job["batch"])
    loader = DataLoader(dataset, batch_size=job["batch"], sampler=sampler, collate_fn=cut_out if job["cut"] else whole_rows)
    seconds, processor = [], []
    for epoch in range(job["epochs"]):
        sampler.set_epoch(epoch)
        dist.barrier()
        began, used = time.perf_counter(), time.process_time()
        for batch in loader:
            optimizer.zero_grad()
            loss_of(parallel, *batch).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1)
            optimizer.step()
        dist.barrier()
        seconds.append(time.perf_counter() - began)
        processor.append(time.process_time() - used)
    return {"seconds": seconds, "processor": processor, "updates": len(loader),
            "accuracy": accuracy(model, job["test"]) if job["test"] and rank == 0 else None}


def main():
    path, rank, ranks = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    with open(path, encoding="utf-8") as file:
        jobs = json.load(file)
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method="file://" + path + ".meeting", rank=rank, world_size=ranks,
                            timeout=datetime.timedelta(minutes=5))
    for job in jobs:
        told = train(job, rank, ranks)
        if rank == 0:
            with open(path + ".told", "a", encoding="utf-8") as file:
                file.write(json.dumps(told) + "\n")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
