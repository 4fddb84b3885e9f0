"""One packer over one list: peer.py NAME T FILE. Prints blocks, CPU seconds of the packing alone, and the peak of memory
that it added in MiB."""
import resource
import sys
import time


def read(path):
    """Equal lengths are one object: the list itself then takes 8 bytes for each."""
    lengths = []
    known = {}
    with open(path) as lines:
        for line in lines:
            words = line.split()
            length = known.setdefault(words[0], int(words[0]))
            if len(words) > 1:
                lengths += [length] * int(words[1])
            else:
                lengths.append(length)
    return lengths


def first_fit_decreasing(lengths, T):
    """Plain Python: the rooms in a tree, so that it ends."""
    size = 1
    while size < len(lengths):
        size *= 2
    tree = [T] * (2 * size)
    blocks = 0
    for length in sorted(lengths, reverse=True):
        at = 1
        while at < size:
            at = 2 * at if tree[2 * at] >= length else 2 * at + 1
        tree[at] -= length
        blocks = max(blocks, at - size + 1)
        while at > 1:
            at //= 2
            tree[at] = max(tree[2 * at], tree[2 * at + 1])
    return blocks


def seqpacker(method):
    def pack(lengths, T):
        from seqpacker import Packer

        return len(Packer(capacity=T, strategy=method).pack(lengths).bins)

    return pack


def lightbinpack(lengths, T):
    from lightbinpack import obfd

    return len(obfd(lengths, T))


def trl(lengths, T):
    """TRL's own function, out of its file alone: what it imports beside pyarrow and numpy is not needed for packing."""
    import importlib.util
    import pathlib
    import types

    import pyarrow as pa

    for name in ("transformers", "datasets"):
        stub = types.ModuleType(name)
        stub.__getattr__ = lambda _: type("Stub", (), {})
        sys.modules.setdefault(name, stub)
    root = pathlib.Path(importlib.util.find_spec("trl").origin).parent
    spec = importlib.util.spec_from_file_location("data_utils", root / "data_utils.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    values = pa.array(range(sum(lengths)), type=pa.int32())
    offsets = [0]
    for length in lengths:
        offsets.append(offsets[-1] + length)
    table = pa.table({"input_ids": pa.ListArray.from_arrays(pa.array(offsets, type=pa.int32()), values)})
    return len(module._pack_bfd(table, T))


PEERS = {
    "python-ffd": first_fit_decreasing,
    "seqpacker": seqpacker("obfd"),
    "seqpacker-nf": seqpacker("nf"),
    "lightbinpack": lightbinpack,
    "trl": trl,
}


def main():
    name, T, path = sys.argv[1:]
    lengths = read(path)
    PEERS[name]([1, 2], int(T))  # what is imported is no part of packing
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begun = time.process_time()
    blocks = PEERS[name](lengths, int(T))
    seconds = time.process_time() - begun
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"{blocks} - {seconds:.3f} {(after - before) / 1024:.0f}")


if __name__ == "__main__":
    main()
