"""TRL's SFTTrainer trains from bload.datasets.packed."""
import json

from tokenizers import Tokenizer, models
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
from trl import SFTConfig, SFTTrainer

import bload
import bload.datasets
import tool


class Sft(tool.Tool):
    def test_trains(self):
        """All tokens of the blocks are trained on, once an epoch, and no sequence attends to another: the loss is that of the trainer's
        collator, which gives positions from 0 for each."""
        with open(self.path("texts.jsonl"), "w") as file:
            for i in range(60):
                file.write(json.dumps({"text": chr(97 + i % 26) * (2 + i * 7 % 50)}) + "\n")
        data = self.pack("data", self.path("texts.jsonl"), "--tokenizer", "bytes", "-T", 64)
        rows = bload.datasets.packed(data)
        tokenizer = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.BPE({"<pad>": 0, "<eos>": 1}, [])), pad_token="<pad>",
                                            eos_token="<eos>")
        model = LlamaForCausalLM(LlamaConfig(vocab_size=256, hidden_size=32, intermediate_size=64, num_hidden_layers=1,
                                             num_attention_heads=2, num_key_value_heads=2))
        training = SFTConfig(output_dir=self.path("out"), padding_free=True, max_length=None, remove_unused_columns=False,
                             dataset_kwargs={"skip_prepare_dataset": True}, per_device_train_batch_size=2, num_train_epochs=2,
                             learning_rate=1e-2, report_to=[], use_cpu=True, bf16=False, logging_steps=1, save_strategy="no", disable_tqdm=True)
        trainer = SFTTrainer(model, training, train_dataset=rows, processing_class=tokenizer)
        trainer.train()
        logs = [log for log in trainer.state.log_history if "loss" in log]
        self.assertLess(float(logs[-1]["loss"]), float(logs[0]["loss"]))
        self.assertEqual(float(logs[-1]["num_tokens"]), 2 * int(bload.open(data)._index.length.sum()))
        batch = trainer.data_collator([rows[0]])
        starts = [k for k, position in enumerate(batch["position_ids"][0].tolist()) if position == 0]
        self.assertEqual(starts, bload.open(data)[0]["cu_seqlens"][:len(starts)].tolist())
