"""Micro-batches, waiting and time of bload.partition and of what frameworks do. Prints the table of docs/online.md.

Each cell: micro-batches of each rank, what ranks wait if they do so after a step and if they do so after every micro-batch, and milliseconds. A star:
so many micro-batches exceed the maximum of tokens. "fails": there must be a rollout for each rank.
"""
import time

import partition_peers as peers

import bload


def timed(call, repeats):
    """The result, and the least time of some calls in milliseconds."""
    least = float("inf")
    for _ in range(repeats):
        begin = time.perf_counter()
        made = call()
        least = min(least, time.perf_counter() - begin)
    return made, least * 1e3


def by_bload(sync):
    def divide(lengths, ranks, cap):
        return bload.partition(lengths, ranks, max_tokens=cap, cost=f"{peers.ALPHA},{peers.BETA}", sync=sync).assignment
    return divide


def cell(divide, lengths, ranks, cap, repeats=3):
    try:
        made, spent = timed(lambda: divide(lengths, ranks, cap), repeats)
    except peers.Absent as error:
        return str(error)
    except (AssertionError, ValueError):
        return "fails"
    micro_batches, over, step, micro = peers.measure(made, lengths, cap)
    return f"{micro_batches}{f' ({over}*)' if over else ''}; {100 * step:.1f} %, {100 * micro:.1f} %; {spent:{'.0f' if spent > 10 else '.1f'}} ms"


lists = peers.rollouts()
print("| |", " | ".join(lists), "|")
print("|---" * (1 + len(lists)) + "|")
for name, divide in {"bload.partition": by_bload("step"), "bload.partition, sync micro": by_bload("micro"), **peers.PEERS_BY_NAME}.items():
    repeats = 10 if "bload" in name else 2  # the first call imports a peer
    print(f"| {name} |", " | ".join(cell(divide, *one, repeats) for one in lists.values()), "|", flush=True)
