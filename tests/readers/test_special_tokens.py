"""--add-special-tokens: documents begin and end as encode(add_special_tokens=True) of the released `tokenizers` has them."""
import glob
import json
import lzma
import os
import unittest

from tokenizers import Tokenizer, processors

import tool
from harness import each
from test_text import rows, sequences, texts, trained

TOKENIZERS = os.path.join(tool.SHARED, "data/tokenizers")
BEGIN, END = ("<|begin|>", 1), ("<|end|>", 0)


def template(single, **more):
    return processors.TemplateProcessing(single=single, pair="$A $B", special_tokens=[BEGIN, END], **more)


def byte_level():
    return processors.ByteLevel(trim_offsets=False)


PROCESSORS = {
    "bytelevel": byte_level(),
    "begin": template("<|begin|> $A"),
    "end": template("$A <|end|>"),
    "both": template("<|begin|> $A:0 <|end|>:1"),
    "several": template("<|begin|> <|begin|> <|end|> $A <|end|> <|begin|>"),
    "nothing": template("$A"),
    "bert": processors.BertProcessing(END, BEGIN),
    "roberta": processors.RobertaProcessing(END, BEGIN, trim_offsets=True, add_prefix_space=False),
    "llama3": processors.Sequence([byte_level(), template("<|begin|> $A")]),
    "after": processors.Sequence([template("<|begin|> $A <|end|>"), byte_level()]),
    "empty": processors.Sequence([]),
}


def released():
    """The released tokenizer.json files: (name, path)."""
    for path in sorted(glob.glob(TOKENIZERS + "/*.json") + glob.glob(TOKENIZERS + "/more/*.json.xz")):
        name = os.path.basename(path).split(".json")[0]
        if "tekken" not in name and "vocab" not in name:
            yield name, path


class Marks(tool.Tool):
    """Plain text of a line each, and the ids of these lines."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.documents = [*(text for text in texts(60, 3) if text), "<|begin|>a<|end|> <|end|>", "<|end|>"]
        cls.corpus = os.path.join(cls.directory, "corpus.jsonl")
        tool.write(cls.corpus, "".join(json.dumps({"text": text}) + "\n" for text in cls.documents))
        cls.plain = os.path.join(cls.directory, "plain.json")
        trained(cls.plain, cls.documents)

    def same(self, path, *arguments):
        """What is packed with the tokenizer at path is what the package gives for it."""
        dataset = self.pack("marks", self.corpus, "--tokenizer", path, "--add-special-tokens", "-T", 4096, *arguments,
                            status=(0, 3))
        tokenizer = Tokenizer.from_file(path)
        tokenizer.no_truncation()
        tokenizer.no_padding()
        tokenizer.encode_special_tokens = "parse" not in arguments
        got, _ = sequences(dataset)
        theirs = [(text, ids) for text, ids in ((text, tokenizer.encode(text).ids) for text in self.documents) if ids]
        self.assertEqual(len(got), len(theirs))  # some tokenizers find nothing in blanks
        for row, (text, ids) in zip(sorted(got), theirs):
            self.assertEqual(got[row].tolist(), ids, text)
        return dataset

    def grafted(self, processor):
        """The path of the small tokenizer with this post-processor."""
        content = json.loads(tool.read(self.plain))
        content["post_processor"] = processor
        path = self.path("grafted.json")
        tool.write(path, json.dumps(content))
        return path


class Generated(Marks):
    @each(PROCESSORS)
    def test(self, name):
        tokenizer = Tokenizer.from_file(self.plain)
        tokenizer.post_processor = PROCESSORS[name]
        path = self.path(name + ".json")
        tokenizer.save(path)
        dataset = self.same(path)
        adds = tokenizer.num_special_tokens_to_add(False) > 0
        _, words = self.bload("scan", self.corpus, "--tokenizer", path, "--add-special-tokens")
        self.assertEqual("--add-special-tokens adds none" in words, not adds, words)
        self.assertTrue(all("add-special-tokens" in row["sampling"] for row in rows(dataset)))

    def test_defaults(self):
        """What encode gives when nothing is asked for."""
        tokenizer = Tokenizer.from_file(self.plain)
        tokenizer.post_processor = PROCESSORS["both"]
        path = self.path("defaults.json")
        tokenizer.save(path)
        self.same(path, "--special", "parse")

    def test_none(self):
        self.same(self.grafted(None))

    def test_ids_of_several(self):
        """A special token of a template may be several ids."""
        special = {"x": {"id": "x", "ids": [5, 6, 5], "tokens": ["a", "b", "a"]}}
        single = [{"SpecialToken": {"id": "x", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}]
        self.same(self.grafted({"type": "TemplateProcessing", "single": single, "pair": [], "special_tokens": special}))

    def test_equal_to_marks(self):
        """--bos and --eos give the same tokens."""
        path = self.path("both.json")
        tokenizer = Tokenizer.from_file(self.plain)
        tokenizer.post_processor = PROCESSORS["both"]
        tokenizer.save(path)
        marked = self.pack("named", self.corpus, "--tokenizer", path, "--bos", "<|begin|>", "--eos", "<|end|>", "-T", 4096)
        one, other = sequences(self.same(path))[0], sequences(marked)[0]
        self.assertEqual({k: v.tolist() for k, v in one.items()}, {k: v.tolist() for k, v in other.items()})


@unittest.skipUnless(os.path.isdir(TOKENIZERS), f"no {TOKENIZERS}")
class Released(Marks):
    def opened(self, path):
        with (lzma.open if path.endswith(".xz") else open)(path) as file:
            return json.loads(file.read())

    @each(released())
    def test_post_processor(self, _, path):
        """The post-processor of a released file, with a model that is quickly read."""
        self.same(self.grafted(self.opened(path).get("post_processor")))

    @each(released())
    def test_file(self, name, path):
        """The released file itself."""
        plain = self.path(name + ".json")
        tool.write(plain, json.dumps(self.opened(path)))
        try:
            Tokenizer.from_file(plain)
        except Exception as refused:
            self.skipTest(str(refused))
        self.same(plain)
