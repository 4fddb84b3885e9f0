"""Training on chats that bload.multimodal packed: two ranks, of which one has no media, and the Trainer of Transformers."""
import os
import socket
import subprocess
import sys

import torch
import transformers
from torch.utils.data import DataLoader

import multimodal_models as models
import multimodal_sets as sets
import tool
from bload.torch import collate
from harness import each, expand

JOB = os.path.join(os.path.dirname(os.path.abspath(__file__)), "multimodal_job.py")
SILENT = [family for family in models.FAMILIES if family != "paligemma"]    # take chats without media


def folder_of(root, family):
    """Write the model of a family, and its datasets set, of all chats, and text; return the folder."""
    folder = os.path.join(root, family)
    os.makedirs(folder)
    models.save(family, os.path.join(folder, "model"))
    chats = sets.chats_of(family, folder)
    sets.packed(folder, {name: chat for name, chat in chats.items() if name != "text"})
    if "text" in chats:
        sets.packed(folder, {"text": chats["text"]}, "text")
    return folder


class Ranks(tool.Tool):
    def job(self, smallest, *folders):
        """Run the job on two ranks, and return their exit statuses and what they wrote to standard error."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        ranks = [subprocess.Popen([sys.executable, JOB, smallest, *folders], stderr=subprocess.PIPE, text=True, env={
            **os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "RANK": str(rank), "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}) for rank in range(2)]
        said = [rank.communicate(timeout=600)[1] for rank in ranks]
        return [rank.returncode for rank in ranks], said

    def test(self):
        """A rank without media trains with the other one: both have the mean of the gradients of both batches. Without a smallest picture it ends."""
        folders = [folder_of(self.directory, family) for family in SILENT]
        statuses, said = self.job("yes", *folders)
        self.assertEqual(statuses, [0, 0], said)
        for folder in folders:
            with self.subTest(folder=folder):
                family = os.path.basename(folder)
                made = models.model(family, "sdpa", os.path.join(folder, "model"))
                datasets = [sets.BlockDataset(os.path.join(folder, name), pad=False) for name in ("set", "text")]
                rows = [sets.row_of(dataset, made) for dataset in datasets]
                left_out = sets.unused(made, rows[0])
                for name, parameter in made.named_parameters():
                    parameter.requires_grad_(name not in left_out)
                expected = (sets.gradients(made, rows[0]) + sets.gradients(made, rows[1])) / 2
                for rank in range(2):
                    found = torch.load(os.path.join(folder, f"gradients-{rank}.pt"))
                    self.assertLess(((found - expected).abs().max() / expected.abs().max()).item(), 1e-4)
        statuses, said = self.job("no", folders[0])
        self.assertNotEqual(statuses, [0, 0])
        self.assertIn("Expected to have finished reduction in the prior iteration", "".join(said))


@expand
class Trainer(tool.Tool):
    @each(models.FAMILIES)
    def test(self, family):
        """The Trainer loses of a batch what the model loses of it, and learns from it."""
        folder = folder_of(self.directory, family)
        dataset = sets.BlockDataset(os.path.join(folder, "set"), pad=False)
        made = models.model(family, "sdpa", os.path.join(folder, "model"))
        with torch.no_grad():
            expected = made(**sets.row_of(dataset, made)).loss.item()
        arguments = transformers.TrainingArguments(
            os.path.join(folder, "run"), remove_unused_columns=False, per_device_train_batch_size=len(dataset), num_train_epochs=12,
            learning_rate=3e-3, lr_scheduler_type="constant", logging_steps=1, report_to="none", disable_tqdm=True, use_cpu=True, save_strategy="no")
        trainer = transformers.Trainer(made, arguments, train_dataset=dataset,
                                       data_collator=lambda blocks: sets.arguments_of(dataset, collate(blocks), made))
        trainer.train()
        losses = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
        self.assertAlmostEqual(losses[0] / expected, 1, 3)
        self.assertLess(losses[-1], 0.9 * losses[0])


@expand
class Loop(tool.Tool):
    @each(("llava", "qwen2_5_vl"))
    def test(self, family):
        """A plain loop over a DataLoader with workers trains; a batch of several blocks is one row."""
        folder = folder_of(self.directory, family)
        dataset = sets.BlockDataset(os.path.join(folder, "set"), pad=False)
        made = models.model(family, "eager", os.path.join(folder, "model")).train()
        optimizer = torch.optim.AdamW(made.parameters(), 3e-3)
        losses = []
        for _ in range(10):
            for batch in DataLoader(dataset, batch_size=2, collate_fn=collate, num_workers=1):
                loss = made(**sets.arguments_of(dataset, batch, made)).loss
                loss.backward()
                optimizer.step()
                optimizer.zero_grad()
                losses.append(loss.item())
        self.assertLess(losses[-1], 0.9 * losses[0])
