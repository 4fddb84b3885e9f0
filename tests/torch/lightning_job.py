"""Training under Lightning, on each rank: lightning_job.py DATA FOLDER EPOCHS [STEP [CHECKPOINT]].

Leaves in FOLDER/checkpoint what it saved after that step, and in FOLDER/RANK.json [[epoch, [the sequences of each block]], ...], one
for each step. With a checkpoint it goes on from there.
"""
import json
import logging
import os
import sys
import warnings

import pytorch_lightning as lightning
import torch
from torchdata.stateful_dataloader import StatefulDataLoader

from bload.torch import BlockDataset, BlockSampler
from packed import sequences_of


class Model(lightning.LightningModule):
    def __init__(self, data, folder, save):
        super().__init__()
        self.data, self.folder, self.save = data, folder, save
        self.layer = torch.nn.Linear(2, 1)
        self.steps = []

    def _register_sharded_tensor_state_dict_hooks_if_available(self):
        """Nothing: Debian's torch cannot import its sharded tensors under this Python, and the model has none."""

    def train_dataloader(self):
        dataset = BlockDataset(self.data)
        sampler = BlockSampler(dataset, self.trainer.world_size, self.trainer.global_rank, whole_length=True)
        return StatefulDataLoader(dataset, batch_size=dataset.batch_size, sampler=sampler, num_workers=1)

    def training_step(self, batch, _):
        blocks = [{name: value[b] for name, value in batch.items()} for b in range(len(batch["sequence"]))]
        self.steps.append([self.current_epoch, list(map(sequences_of, blocks))])
        return self.layer(batch["array"].float()).mean()

    def on_train_batch_end(self, *_):
        if self.global_step == self.save:
            self.trainer.save_checkpoint(os.path.join(self.folder, "checkpoint"))

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.0)


def main(data, folder, epochs, save="0", checkpoint=None):
    warnings.simplefilter("ignore")
    logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)
    world = int(os.environ.get("WORLD_SIZE", 1))
    trainer = lightning.Trainer(accelerator="cpu", devices=world, max_epochs=int(epochs), logger=False,
                                strategy="ddp" if world > 1 else "auto", enable_checkpointing=False, enable_progress_bar=False,
                                enable_model_summary=False, default_root_dir=folder)
    model = Model(data, folder, int(save))
    trainer.fit(model, ckpt_path=checkpoint)
    with open(os.path.join(folder, f"{trainer.global_rank}.json"), "w") as file:
        json.dump(model.steps, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
