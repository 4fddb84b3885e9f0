"""One rank of a training job by torch's DistributedDataParallel over gloo, on the loopback interface: train.py JOB.json RANK

The job, {"dataset", "ranks", "data", "epochs", "timeout", "folder"}, is the same for all ranks; data is "packed", "fresh" or, with the
rows of the "sequences", "windows", a function here. Rank R leaves rank-R.json in the folder, anew after every update: what it has done
and seen. Status 0: trained to the end; HUNG: it waited for another rank for longer than the timeout, in seconds; ALONE: it was at the
end, and another never came there.
"""
import datetime
import hashlib
import json
import os
import sys
import threading

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler

import bload
from bload.torch import BlockDataset, BlockSampler
from recurrent import Recurrent, begins, brightness, loss_of

HUNG, ALONE = 7, 8
WINDOW = 16


def packed(job, rank):
    """For each epoch an iterable of (inputs, reset, ends, sequences): whole blocks, dealt by torch's own sampler."""
    dataset = BlockDataset(job["dataset"])
    return of_epochs(job, dataset, DistributedSampler(dataset, job["ranks"], rank, seed=5))


def fresh(job, rank):
    """The same, dealt by the package's sampler: another packing each epoch."""
    dataset = BlockDataset(job["dataset"])
    return of_epochs(job, dataset, BlockSampler(dataset, job["ranks"], rank, seed=5))


def of_epochs(job, dataset, sampler):
    for epoch in range(job["epochs"]):
        sampler.set_epoch(epoch)
        yield map(of_batch, DataLoader(dataset, batch_size=dataset.batch_size, sampler=sampler))


def of_batch(batch):
    inputs, cu_seqlens = brightness(batch["frames"]), batch["cu_seqlens"]
    sequences = batch["sequence"][batch["sequence"] >= 0]
    return inputs, begins(cu_seqlens, inputs.shape[1]), cu_seqlens[:, -1].long(), sequences.tolist()


def windows(job, rank):
    """The same for sequences as they are: every rank has its share of them, and an update after every WINDOW frames."""
    dataset = bload.open(job["dataset"])
    mine = {row: torch.from_numpy(dataset.sequence(row)["frames"].copy()) for row in job["sequences"][rank::job["ranks"]]}
    for _ in range(job["epochs"]):
        yield [of_window(frames[first:first + WINDOW], row) for row, frames in mine.items() for first in range(0, len(frames), WINDOW)]


def of_window(frames, row):
    reset = torch.zeros(1, len(frames), dtype=torch.bool)
    reset[0, 0] = True
    return brightness(frames[None]), reset, torch.tensor([len(frames)]), [row]


DATA = {"packed": packed, "fresh": fresh, "windows": windows}


def flat_gradients(model):
    return torch.cat([parameter.grad.flatten() for parameter in model.parameters()])


class Report:
    """What the rank has done, as a file that is there whole at any time."""

    def __init__(self, job, rank):
        self.path = os.path.join(job["folder"], f"rank-{rank}.json")
        self.epochs = []

    def add(self, sequences, gradients):
        self.epochs[-1].append({"sequences": sequences, "gradients": hashlib.sha256(gradients.numpy().tobytes()).hexdigest()})
        self.write()

    def write(self):
        with open(self.path + ".part", "w", encoding="utf-8") as file:
            json.dump(self.epochs, file)
        os.replace(self.path + ".part", self.path)


def train(job, rank, report):
    torch.manual_seed(1)
    # The model has a group of its own: it waits for as long as the job says, the rest for a minute.
    timeout = datetime.timedelta(seconds=job["timeout"])
    model = DistributedDataParallel(Recurrent(), process_group=dist.new_group(timeout=timeout))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    dist.barrier()
    # Should gloo's own timeout not come, this one does.
    watch = threading.Timer(3 * job["timeout"], os._exit, [HUNG])
    watch.daemon = True
    watch.start()
    for batches in DATA[job["data"]](job, rank):
        report.epochs.append([])
        for inputs, reset, ends, sequences in batches:
            optimizer.zero_grad()
            loss_of(model, inputs, reset, ends).backward()
            gradients = flat_gradients(model)
            if not report.epochs[0]:
                torch.save(gradients, f"{report.path}.first")
            report.add(sequences, gradients)
            optimizer.step()
        at_the_end()


def at_the_end():
    """Where ranks wait for each other after an epoch, as training programs do to validate and to save."""
    try:
        dist.barrier()
    except RuntimeError as error:
        print(f"alone at the end of the epoch: {error}", file=sys.stderr, flush=True)
        os._exit(ALONE)


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        job = json.load(file)
    rank = int(sys.argv[2])
    torch.set_num_threads(1)
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    dist.init_process_group("gloo", init_method="file://" + os.path.join(job["folder"], "meeting"), rank=rank, world_size=job["ranks"],
                            timeout=datetime.timedelta(seconds=60))
    try:
        train(job, rank, Report(job, rank))
    except RuntimeError as error:
        print(f"no answer from another rank: {error}", file=sys.stderr, flush=True)
        os._exit(HUNG)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
