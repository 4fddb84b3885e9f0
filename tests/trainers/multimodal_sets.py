"""Datasets of the example chats of multimodal families, packed by bload.multimodal, and what their models take."""
import io
import json
import os
import tarfile

import torch

import bload
import bload.multimodal
import multimodal_models as models
import tool
from bload import contracts
from bload._core.arrays import FAMILIES
from bload.torch import BlockDataset, collate

os.environ.setdefault("BLOAD", tool.BLOAD)


def chats_of(family, folder):
    """Return the example chats that the family can be trained on, by name: SmolVLM divides a chat with two videos."""
    found = models.chats(family, models.media(folder))
    return {name: chat for name, chat in found.items() if (family, name) != ("smolvlm", "videos")}


def packed(folder, chats, name="set", *words):
    """Pack chats into FOLDER/name by the processor in FOLDER/model, and return the dataset."""
    path = os.path.join(folder, f"{name}.jsonl")
    tool.write(path, "".join(json.dumps({"id": one, "messages": chat}) + "\n" for one, chat in chats.items()))
    status = bload.multimodal.main(["--processor", os.path.join(folder, "model"), path, "-o", os.path.join(folder, name), "-T", "600", "-j", "1", "-q",
                                    *words])
    assert status == 0, status
    return BlockDataset(os.path.join(folder, name), pad=False)


def arguments_of(dataset, batch, made, **options):
    """Return the arguments of the model for a batch, by the contract of the dataset's family."""
    family = FAMILIES[dataset.about["multimodal"]["processor"]]
    if family.contract == "gemma3":
        options["config"] = made.config
    return getattr(contracts, family.contract)(batch, dataset.about, **options)


def row_of(dataset, made, **options):
    """Return the arguments for all blocks of a dataset as one batch."""
    return arguments_of(dataset, collate(list(dataset)), made, **options)


def unused(made, row):
    """Return the names of the parameters that get no gradient from a row, such as the last layer of CLIP in LLaVA."""
    made.zero_grad(set_to_none=True)
    made(**row).loss.backward()
    names = [name for name, parameter in made.named_parameters() if parameter.grad is None]
    made.zero_grad(set_to_none=True)
    return names


def gradients(made, row):
    """Return the gradients of the loss of a row, as one vector."""
    made.zero_grad(set_to_none=True)
    made(**row).loss.backward()
    return torch.cat([parameter.grad.flatten() for parameter in made.parameters() if parameter.requires_grad])


def members_of(data):
    """Return the members of a row as files, by the name of their field."""
    with tarfile.open(fileobj=io.BytesIO(b"".join([*data, bytes(1024)]))) as file:
        return {member.name.split(".")[1]: io.BytesIO(file.extractfile(member).read()) for member in file}
