"""Preferences: the loss of DPO from packed blocks of pairs is that of TRL's DPOTrainer on padded pairs."""
import copy
import json

import numpy as np
import torch
from datasets import Dataset
from tokenizers import Tokenizer, models
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
from trl import DPOConfig, DPOTrainer

import bload
import bload.torch
import tool
from bload import contracts

PAIRS, T, BETA, VOCABULARY = 24, 128, 0.3, 256


def preferences():
    """Prompts and answers of random ids."""
    random = np.random.default_rng(5)

    def ids(most):
        return random.integers(2, VOCABULARY, random.integers(1, most)).tolist()

    return [{"prompt": ids(20), "chosen": ids(40), "rejected": ids(40)} for _ in range(PAIRS)]


def small(seed):
    torch.manual_seed(seed)
    return LlamaForCausalLM(LlamaConfig(vocab_size=VOCABULARY, hidden_size=32, intermediate_size=64, num_hidden_layers=2,
                                        num_attention_heads=2, num_key_value_heads=2, initializer_range=0.3)).eval()


def packed_loss(batch, model, reference):
    """The loss of a batch as the docstring of contracts.pairs computes it, and how many pairs it has."""
    arguments = contracts.pairs(batch, loss_mask="loss_mask")
    pairs = arguments.pop("pairs")
    learned = arguments["labels"][0, 1:] != -100

    def log_probs(model):
        each = model(**arguments).logits[0, :-1].log_softmax(-1)
        each = each.gather(1, arguments["input_ids"][0, 1:, None])[:, 0] * learned
        sums = each.new_zeros(len(arguments["cu_seq_lens_q"]) - 1)
        return sums.index_add(0, arguments["seq_idx"][0, 1:], each)

    with torch.no_grad():
        reference_log_probs = log_probs(reference)
    chosen, rejected = (log_probs(model) - reference_log_probs)[pairs].unbind(1)
    return -torch.nn.functional.logsigmoid(BETA * (chosen - rejected)), pairs


class Pairs(tool.Tool):
    def packed(self, rows):
        """The dataset of pairs, written as `bload.chat --pairs` writes them, in another order than the pairs have."""
        with open(self.path("pairs.jsonl"), "w") as file:
            for side in "chosen", "rejected":
                for number, row in enumerate(rows):
                    ids = row["prompt"] + row[side]
                    mask = [0] * len(row["prompt"]) + [1] * len(row[side])
                    file.write(json.dumps({"id": f"{number}/{side}", "pair": f"p{number}", "chosen": int(side == "chosen"),
                                           "input_ids": ids, "loss_mask": mask}) + "\n")
        return self.pack("data", self.path("pairs.jsonl"), "--key", "input_ids", "--field", "loss_mask=loss_mask:u8", "-T", T,
                         "--keep", "pair,chosen:number", "--together", "pair", "--world-size", 2)

    def test_the_loss_is_that_of_trl(self):
        rows = preferences()
        blocks = bload.open(self.packed(rows))
        self.assertGreater(len(blocks), 4)
        model, reference = small(1), small(2)
        tokenizer = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.BPE({"<pad>": 0, "<eos>": 1}, [])), pad_token="<pad>",
                                            eos_token="<eos>")
        examples = [{"prompt_ids": row["prompt"], "chosen_ids": row["chosen"], "rejected_ids": row["rejected"]} for row in rows]
        training = DPOConfig(output_dir=self.path("out"), beta=BETA, max_length=None, report_to=[], use_cpu=True, bf16=False,
                             disable_dropout=True, remove_unused_columns=False, disable_tqdm=True)
        text = Dataset.from_list([{"prompt": "a", "chosen": "b", "rejected": "c"}])
        trainer = DPOTrainer(copy.deepcopy(model), ref_model=copy.deepcopy(reference), args=training, train_dataset=text,
                             processing_class=tokenizer)
        trainer.model.eval()
        losses, seen = [], set()
        for block in blocks:
            batch = bload.torch.collate([block])
            each, pairs = packed_loss(batch, model, reference)
            names = [int(blocks.sequences["pair"][row][1:]) for row in block["sequence"] if row >= 0][::2]
            self.assertEqual(len(pairs), len(names))
            seen.update(names)
            given = trainer.data_collator([examples[number] for number in names])
            expected = trainer.compute_loss(trainer.model, given)
            self.assertLess(abs(float(each.mean()) - float(expected)), 1e-4)
            losses.append(float(expected))
            # The gradients are the same, too.
            each.mean().backward()
            expected.backward()
            for mine, other in zip(model.parameters(), trainer.model.parameters()):
                torch.testing.assert_close(mine.grad, other.grad, rtol=1e-3, atol=1e-4)
                mine.grad = other.grad = None
        self.assertEqual(seen, set(range(PAIRS)))
        self.assertGreater(np.std(losses), 1e-2)
