"""One rank of a job that reads what bload export wrote, by the released loader of the format, shuffled: export_job.py FORMAT DIR RANK
WORLD_SIZE PORT. Prints the digest of each block as a line of JSON."""
import hashlib
import json
import os
import sys
import types

import numpy as np
import torch
from torch.utils.data import DataLoader


def digest(arrays):
    """Of all arrays of a block, whatever holds them."""
    found = hashlib.sha1()
    for name in sorted(arrays):
        array = np.ascontiguousarray(np.asarray(arrays[name]))
        found.update(f"{name} {array.dtype} {array.shape}".encode() + array.tobytes())
    return found.hexdigest()


def without(module, *names):
    """Puts a module in the place of one that Debian's torch lacks or cannot load, and that the loader needs for its names alone."""
    sys.modules[module] = types.ModuleType(module)
    for name in names:
        setattr(sys.modules[module], name, type(name, (), {}))


def mds(directory, _rank, _size):
    for module in "torchvision", "torchvision.transforms", "torchvision.transforms.functional", "torchvision.datasets":
        without(module, "VisionDataset", "to_tensor", "ToTensor")
    from streaming import StreamingDataset
    dataset = StreamingDataset(local=directory, shuffle=True, batch_size=2, validate_hash="xxh3_64")
    for batch in DataLoader(dataset, batch_size=2, num_workers=1):
        for k in range(len(batch["num_sequences"])):
            # Stock collation makes of lists of texts one list for each place.
            yield {name: [place[k] for place in values] if name == "ids" else values[k] for name, values in batch.items()}


def webdataset(directory, _rank, _size):
    import webdataset as wds
    files = [os.path.join(directory, name) for name in sorted(os.listdir(directory)) if name.endswith(".tar")]
    dataset = wds.WebDataset(files, shardshuffle=100, nodesplitter=wds.split_by_node, seed=1).shuffle(8).decode()
    for sample in wds.WebLoader(dataset, batch_size=None, num_workers=1):
        yield {name.rpartition(".")[0]: value for name, value in sample.items() if name.endswith((".npy", ".json"))}


def energon(directory, rank, size):
    without("torch.distributed._shard.sharded_tensor", "ShardedTensorBase")
    from bload.energon import BlockEncoder
    from megatron.energon import WorkerConfig, get_loader, get_train_dataset
    dataset = get_train_dataset(directory, worker_config=WorkerConfig(rank=rank, world_size=size, num_workers=1), batch_size=2,
                                shuffle_buffer_size=8, max_samples_per_sequence=None, repeat=False, task_encoder=BlockEncoder())
    for batch in get_loader(dataset):
        for k in range(len(batch.arrays["num_sequences"])):
            block = {name: values[k] for name, values in batch.arrays.items()}
            yield block if batch.ids[k] is None else {**block, "ids": batch.ids[k]}


def main():
    kind, directory, rank, size, port = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:6])
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(size), LOCAL_RANK=str(rank), LOCAL_WORLD_SIZE=str(size), MASTER_ADDR="127.0.0.1",
                      MASTER_PORT=str(port))
    if kind == "mds":
        torch.distributed.init_process_group("gloo")
    read = {"mds": mds, "webdataset": webdataset, "energon": energon}[kind]
    print(json.dumps([digest(block) for block in read(directory, rank, size)]))


if __name__ == "__main__":
    main()
