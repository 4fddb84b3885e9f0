"""The Trainer as docs/training.md has it."""
import test_docs


def recipe():
    """The names that its section defines, without its training: BlockTrainer, flatten, EpochCallback and others."""
    code, training, _ = dict(test_docs.sections())["transformers"].partition("\ndataset = ")
    assert training
    names = {"__name__": "recipe"}
    exec(code, names)
    return names
