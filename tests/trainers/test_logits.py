"""What models of Transformers say of a packed sequence is what they say of the sequence alone: in a loop, a Trainer, and under Accelerate.

Each model is small and random, with weights large enough that what leaks is far above rounding.
"""
import unittest

import torch
import transformers
from torch.utils.data import DataLoader

import bload
from bload.torch import BlockDataset
from harness import each, expand
from recipe import recipe
from texts import TextTest, VOCABULARY, sequences

SIZES = {"vocab_size": VOCABULARY, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
         "num_key_value_heads": 2, "initializer_range": 0.5}
WINDOW = 8  # steps; the sequences have up to thirty

MODELS = {
    "llama": transformers.LlamaConfig(**SIZES),
    "qwen2": transformers.Qwen2Config(**SIZES),
    "mistral": transformers.MistralConfig(**SIZES, sliding_window=WINDOW),
    "gemma2": transformers.Gemma2Config(**SIZES, sliding_window=WINDOW, head_dim=8, query_pre_attn_scalar=8),
}
CASES = [(f"{name}_{attention}", name, attention) for name in MODELS for attention in ("eager", "sdpa")]
TOLERANCE = 1e-4


def made(name, attention):
    torch.manual_seed(0)
    config = type(MODELS[name]).from_dict(MODELS[name].to_dict())
    try:
        return transformers.AutoModelForCausalLM.from_config(config, attn_implementation=attention)
    except ValueError as error:
        raise unittest.SkipTest(f"Transformers {transformers.__version__}: {str(error).partition(' yet')[0]}")


@expand
class Logits(TextTest):
    def setUp(self):
        self.recipe = recipe()
        self.dataset = BlockDataset(self.data)
        self.loader = DataLoader(self.dataset, batch_size=self.dataset.batch_size, collate_fn=self.recipe["flatten"])

    def difference(self, model, said):
        """The largest of any logit of all sequences, said in batches of (input_ids, logits), from that of the sequence alone."""
        model.eval()
        largest, seen = 0.0, []
        for tokens, logits in said:
            firsts = (tokens[0] < len(sequences())).nonzero()[:, 0].tolist()
            for first, end in zip(firsts, [*firsts[1:], tokens.shape[1]]):
                seen.append(tokens[0, first].item())
                self.assertEqual(tokens[0, first:end].tolist(), sequences()[seen[-1]])
                with torch.no_grad():
                    alone = model(input_ids=tokens[:, first:end], use_cache=False).logits
                largest = max(largest, (logits[:, first:end] - alone).abs().max().item())
        self.assertEqual(sorted(seen), list(range(len(sequences()))))
        return largest

    def assertAlike(self, title, model, said):
        difference = self.difference(model, said)
        print(f"    {title}: {difference:.1e}")
        self.assertLess(difference, TOLERANCE)

    def said(self, model, batches, **options):
        with torch.no_grad():
            return [(batch["input_ids"], model(**{**batch, **options}).logits) for batch in batches]

    @each(CASES)
    def test_loop(self, title, name, attention):
        model = made(name, attention)
        self.assertAlike(f"loop, {title}", model, self.said(model, self.loader))

    @each(CASES)
    def test_accelerate(self, title, name, attention):
        from accelerate import Accelerator
        model, loader = Accelerator(cpu=True).prepare(made(name, attention), self.loader)
        self.assertAlike(f"Accelerate, {title}", model, self.said(model, loader))

    @each(CASES)
    def test_trainer(self, title, name, attention):
        model, said = made(name, attention), []
        hook = model.register_forward_hook(
            lambda model, args, batch, output: said.append((batch["input_ids"], output.logits.detach())), with_kwargs=True)
        arguments = transformers.TrainingArguments(self.path(title), remove_unused_columns=False, num_train_epochs=1, learning_rate=0,
                                                   per_device_train_batch_size=self.dataset.batch_size, save_strategy="no",
                                                   report_to="none", disable_tqdm=True, use_cpu=True)
        self.recipe["BlockTrainer"](model, arguments, train_dataset=self.dataset, data_collator=self.recipe["flatten"],
                                    compute_loss_func=self.recipe["token_loss"], callbacks=[self.recipe["EpochCallback"]()]).train()
        hook.remove()
        self.assertAlike(f"Trainer, {title}", model, said)

    def test_trainer_that_removes_columns_is_told(self):
        arguments = transformers.TrainingArguments(self.path("removed"), per_device_train_batch_size=self.dataset.batch_size,
                                                   report_to="none", use_cpu=True)
        trainer = self.recipe["BlockTrainer"](made("llama", "sdpa"), arguments, train_dataset=self.dataset,
                                              data_collator=self.recipe["flatten"], callbacks=[self.recipe["EpochCallback"]()])
        with self.assertWarnsRegex(UserWarning, "set TrainingArguments[(]remove_unused_columns=False[)]"), \
                self.assertRaisesRegex(bload.Error, "batch has no \"cu_seqlens\": .* use TrainingArguments[(]remove_unused_columns=False[)]"):
            trainer.train()

    @each(CASES)
    def test_what_leaks_is_seen(self, title, name, attention):
        """With a cache, and with a mask of ones, models do not look at position_ids: that is what these tests would see."""
        model = made(name, attention)
        for options in ({"use_cache": True}, {"attention_mask": "ones"}):
            batches = [{**batch, "attention_mask": torch.ones_like(batch["input_ids"])} if "attention_mask" in options else batch
                       for batch in self.loader]
            options.pop("attention_mask", None)
            difference = self.difference(model, self.said(model, batches, **options))
            print(f"    leaking, {title}: {difference:.1e}")
            self.assertGreater(difference, 1000 * TOLERANCE)

