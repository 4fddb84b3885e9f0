"""bload cat --as text is what the released packages decode: `tokenizers` with special tokens, `tiktoken`, and `sentencepiece`."""
import io
import json
import lzma
import os
import shutil
import subprocess

import sentencepiece
import tiktoken
import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers, trainers

import tool
from harness import each
from test_sentencepiece import MODELS
from test_tokenizers import TOKENIZERS, training_texts

TEXTS = ["Hello, world! It's 12:30 -- don't  wait.\n\tcafé \U0001f600 中文 \u0301x", " leading", "x", "two  spaces, and \u0130\u00df\ufb01 end. "]
JSON = ["gpt2-tokenizer.json", "gpt-neox-tokenizer.json", "more/phi-3-mini.json.xz", "more/codestral.json.xz", "more/deepseek-v3.json.xz",
        "more/t5-small.json.xz", "more/clip.json.xz", "more/falcon.json.xz", "more/rwkv-midi.json.xz"]
PIECES = ["spm-unigram-1k-test_model.model", "more/llama2.model.xz"]
REFUSED = ["suffix", "suffix_bpe", "user", "user_bpe"]


class Decoding(tool.Tool):
    def texts(self, tokenizer, *options):
        """The text that is decoded of each of TEXTS, and its ids."""
        lines = self.path("texts.jsonl")
        tool.write(lines, "".join(json.dumps({"text": one}) + "\n" for one in TEXTS))
        path = self.pack("packed", lines, "--tokenizer", tokenizer, "-T", "64", "--oversize", "split", *options)
        with open(os.path.join(path, "sequences.tsv")) as file:
            names = [line.split("\t")[0] for line in file][1:]
        self.assertEqual(len(names), len(TEXTS))
        for name in names:
            made = subprocess.run([tool.BLOAD, "cat", path, name, "--tokenizer", tokenizer], capture_output=True, check=True).stdout
            ids = subprocess.run([tool.BLOAD, "cat", path, name, "--as", "ids"], capture_output=True, check=True).stdout
            yield made, [int(one) for one in ids.split()]

    def shared(self, name):
        source = os.path.join(TOKENIZERS, name)
        if not os.path.exists(source):
            self.skipTest(f"no {source}")
        path = self.path(os.path.basename(name).removesuffix(".xz"))
        with (lzma.open if name.endswith("xz") else open)(source, "rb") as file, open(path, "wb") as out:
            shutil.copyfileobj(file, out)
        return path

    def check_json(self, path):
        package = tokenizers.Tokenizer.from_file(path)
        for made, ids in self.texts(path):
            decoded = package.decode(ids, skip_special_tokens=False)
            if package.model.__class__ is models.BPE and package.model.end_of_word_suffix:  # as in transformers
                decoded = decoded.replace(package.model.end_of_word_suffix, " ").strip()
            self.assertEqual(made.decode(errors="replace"), decoded)

    @each(JSON)
    def test_json(self, name):
        self.check_json(self.shared(name))

    def test_byte_level(self):
        made = tokenizers.Tokenizer(models.BPE())
        made.pre_tokenizer, made.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
        made.train_from_iterator(training_texts(), trainers.BpeTrainer(
            vocab_size=600, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), special_tokens=["<|endoftext|>"], show_progress=False))
        made.save(self.path("trained.json"))
        self.check_json(self.path("trained.json"))
        for made, _ in self.texts(self.path("trained.json"), "--eos", "<|endoftext|>"):
            self.assertIn(made.decode().removesuffix("<|endoftext|>"), TEXTS)
            self.assertTrue(made.endswith(b"<|endoftext|>"))

    @each(("cased", "uncased"))
    def test_wordpiece(self, case):
        lower = case == "uncased"
        made = tokenizers.Tokenizer(models.WordPiece(unk_token="[UNK]"))
        made.normalizer = normalizers.BertNormalizer(lowercase=lower)
        made.pre_tokenizer, made.decoder = pre_tokenizers.BertPreTokenizer(), decoders.WordPiece()
        special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
        made.train_from_iterator([*training_texts(), *TEXTS[:1]], trainers.WordPieceTrainer(vocab_size=900, special_tokens=special,
                                                                                           show_progress=False))
        made.save(self.path(case + ".json"))
        self.check_json(self.path(case + ".json"))
        os.makedirs(self.path(case), exist_ok=True)
        made.model.save(self.path(case))
        for text, ids in self.texts(self.path(case, "vocab.txt"), "--lowercase", "yes" if lower else "no"):
            self.assertEqual(text.decode(), made.decode(ids, skip_special_tokens=False))

    @each(("r50k_base", "cl100k_base"))
    def test_tiktoken(self, name):
        path = self.shared({"r50k_base": "gpt2.tiktoken", "cl100k_base": "cl100k_base.tiktoken"}[name])
        ranks = tiktoken.load.load_tiktoken_bpe(path)
        package = tiktoken.Encoding(name, pat_str=r"\S+|\s+", mergeable_ranks=ranks, special_tokens={})
        for made, ids in self.texts(path):
            self.assertEqual(made, package.decode_bytes(ids))
            self.assertIn(made.decode(), TEXTS)

    @each(("more/tekken_240911.json.xz", "more/llama3.tiktoken.xz", "more/p50k.tiktoken.xz", "gpt2-vocab.json"))
    def test_bytes_come_back(self, name):
        """Whatever the ids are, the text is that which was packed."""
        if name == "gpt2-vocab.json":
            self.shared("gpt2-merges.txt")
        self.assertEqual([made.decode() for made, _ in self.texts(self.shared(name))], TEXTS)

    def check_pieces(self, path):
        package = sentencepiece.SentencePieceProcessor(model_file=path)
        for made, ids in self.texts(path):
            self.assertEqual(made.decode(errors="replace"), package.decode(ids))

    @each(PIECES)
    def test_pieces(self, name):
        self.check_pieces(self.shared(name))

    def trained(self, name):
        model, path = io.BytesIO(), self.path(name + ".model")
        sentences = [line for one in training_texts() for line in one[:1500].split("\n") if line]
        sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(sentences), model_writer=model, minloglevel=9,
                                                 **{"vocab_size": 1200, **MODELS[name]})
        tool.write(path, model.getvalue())
        return path

    @each(sorted(set(MODELS) - set(REFUSED)))
    def test_trained_pieces(self, name):
        self.check_pieces(self.trained(name))

    def check_refused(self, path):
        tool.write(self.path("one.txt"), "a b\n")
        packed = self.pack("refused", self.path("one.txt"), "--tokenizer", path, "-T", "64")
        out, error = self.bload("cat", packed, self.path("one.txt"), "--tokenizer", path, status=2)
        self.assertEqual(out, "")
        self.assertIn("cannot be decoded here: ", error)

    @each(REFUSED)
    def test_refused_pieces(self, name):
        self.check_refused(self.trained(name))
