"""Trains as docs/training.md says, two epochs: trainer_job.py DATA FOLDER SAVE ACCUMULATION BATCH [CHECKPOINT], on each rank.

BATCH: blocks per rank and batch, 0 for the dataset's. Saves after so many updates into FOLDER/run, and goes on from a checkpoint. Leaves in
FOLDER/RANK.json the sequences of each batch and the mean of each parameter.
"""
import json
import os
import sys

import torch
from transformers import LlamaConfig, LlamaForCausalLM, TrainingArguments

from bload.torch import BlockDataset
from recipe import recipe
from texts import VOCABULARY


def main(data, folder, save, accumulation, batch_size, checkpoint=None):
    names, read = recipe(), []
    dataset = BlockDataset(data)
    torch.manual_seed(0)
    model = LlamaForCausalLM(LlamaConfig(vocab_size=VOCABULARY, hidden_size=16, intermediate_size=16, num_hidden_layers=1,
                                         num_attention_heads=2, num_key_value_heads=2))
    model.register_forward_pre_hook(
        lambda model, args, batch: read.append(batch["input_ids"][batch["position_ids"] == 0].tolist()), with_kwargs=True)
    arguments = TrainingArguments(os.path.join(folder, "run"), remove_unused_columns=False, per_device_train_batch_size=int(batch_size) or dataset.batch_size,
                                  num_train_epochs=2, gradient_accumulation_steps=int(accumulation), save_strategy="steps",
                                  save_steps=int(save), report_to="none", disable_tqdm=True, use_cpu=True)
    trainer = names["BlockTrainer"](model, arguments, train_dataset=dataset, data_collator=names["flatten"],
                                    compute_loss_func=names["token_loss"], callbacks=[names["EpochCallback"]()])
    trainer.train(resume_from_checkpoint=checkpoint)
    with open(os.path.join(folder, f"{os.environ.get('RANK', 0)}.json"), "w") as file:
        json.dump([read, [parameter.double().mean().item() for parameter in model.parameters()]], file)


if __name__ == "__main__":
    main(*sys.argv[1:])
