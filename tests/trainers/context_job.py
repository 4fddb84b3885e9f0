"""A Llama whose attention is divided among ranks of context parallelism: context_job.py DATA FOLDER LAYOUT, on each rank.

Every rank computes its steps of each block, with the keys and values of all ranks. Leaves in FOLDER/RANK.json for each block the loss of all
ranks, that of its sequences one by one, and the largest difference of a gradient, relative to the largest gradient.
"""
import json
import os
import sys

import torch
import torch.distributed as dist
from torch.nn.functional import cross_entropy
from transformers import AttentionInterface, LlamaConfig, LlamaForCausalLM

from bload import contracts
from bload.torch import BlockDataset
from texts import VOCABULARY


class Gathered(torch.autograd.Function):
    """The tensors of all ranks, one after the other along an axis; the gradients of all ranks come back."""

    @staticmethod
    def forward(context, value, axis):
        parts = [torch.empty_like(value) for _ in range(dist.get_world_size())]
        dist.all_gather(parts, value.contiguous())
        context.axis = axis
        return torch.cat(parts, axis)

    @staticmethod
    def backward(context, gradient):
        gradient = gradient.contiguous()
        dist.all_reduce(gradient)
        return gradient.chunk(dist.get_world_size(), context.axis)[dist.get_rank()], None


def divided(module, query, key, value, attention_mask, scaling, part=None, **_):
    """Causal attention of this rank's queries to the keys of all ranks, within sequences; a step of padding attends to itself."""
    keys, values = (Gathered.apply(one, 2).repeat_interleave(module.num_key_value_groups, 1) for one in (key, value))
    segment, index = (Gathered.apply(part[name][None].float(), 1)[0].long() for name in ("segment_ids", "index"))
    own, at = part["segment_ids"][:, None], part["index"][:, None]
    mask = (own == segment) & (own > 0) & (index <= at) | (index == at)
    weights = (query @ keys.transpose(2, 3) * scaling).masked_fill(~mask, float("-inf")).softmax(-1)
    return (weights @ values).transpose(1, 2), weights


def made(attention):
    torch.manual_seed(0)
    return LlamaForCausalLM(LlamaConfig(vocab_size=VOCABULARY, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
                                        num_key_value_heads=2, initializer_range=0.3, attn_implementation=attention))


def alone(model, block):
    """The mean loss of the sequences of a block, each computed alone."""
    total, count = 0, 0
    for start, length in zip(block["cu_seqlens"].tolist(), block["length"].tolist()):
        if length > 1:
            tokens = block["tokens"][None, start:start + length].long()
            logits = model(input_ids=tokens, use_cache=False).logits[0, :-1]
            total, count = total + cross_entropy(logits, tokens[0, 1:], reduction="sum"), count + length - 1
    return total / count


def main(data, folder, layout):
    dist.init_process_group("gloo")
    rank, cp = dist.get_rank(), dist.get_world_size()
    AttentionInterface.register("divided", divided)
    model, plain, out = made("divided"), made("eager"), []
    dataset = BlockDataset(data)
    for number in range(6):
        block = dataset[number]
        part = contracts.context_parallel(block, cp, rank, layout=layout)
        model.zero_grad()
        plain.zero_grad()
        logits = model(input_ids=part["tokens"][None], position_ids=part["position_ids"][None], use_cache=False, part=part).logits[0]
        summed = cross_entropy(logits, part["labels"], reduction="sum")
        count = part["loss_mask"].sum()
        dist.all_reduce(count)
        (summed / count).backward()
        loss = summed.detach() / count
        dist.all_reduce(loss)
        expected = alone(plain, block)
        expected.backward()
        differences, largest = [], []
        for one, other in zip(model.parameters(), plain.parameters()):
            dist.all_reduce(one.grad)
            differences.append((one.grad - other.grad).abs().max())
            largest.append(other.grad.abs().max())
        out.append([loss.item(), expected.item(), (max(differences) / max(largest)).item()])
    with open(os.path.join(folder, f"{rank}.json"), "w") as file:
        json.dump(out, file)
    dist.destroy_process_group()


if __name__ == "__main__":
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    main(*sys.argv[1:])
