"""The paper's comparison: what it costs, and what it gives, to train on sequences that were padded, sampled, cut or packed.

Two ranks train a recurrent model (paper_rank.py). Accuracy is that of real labelled data; where their wheel is absent there is time
alone. Time is that of Action Genome's lengths, too, with features as wide as real ones. All is packed by the tool ($BLOAD), each way by
its own strategy. See bench/paper.sh, which runs this, and docs/paper.md.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import zipfile

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
BLOAD = os.environ.get("BLOAD", os.path.join(HERE, "../bload"))
SHARED = os.environ.get("BLOAD_SHARED", os.path.join(HERE, "../../shared"))
RANKS = 2
WINDOW = 4  # samples of PLAID that make a step

# name: (strategy, whether rows are cut where sequences begin, whether an update has as many sequences as the others' instead of rows,
# whether every epoch has a plan of its own)
WAYS = {
    "naive": ("naive", False, False, False),
    "naive, PackedSequence": ("naive", True, False, False),
    "sample": ("sample", False, False, False),
    "mix": ("mix", False, False, False),
    "block, equal rows": ("block", True, False, False),
    "block, equal rows, a plan an epoch": ("block", True, False, True),
    "block, equal sequences": ("block", True, True, False),
    "block, equal sequences, a plan an epoch": ("block", True, True, True),
}
COLUMNS = ("data", "way", "rows an update", "T", "updates", "seconds", "naive by it", "processor", "naive by its", "padding", "deleted", "accuracy, %")


class Data:
    """Sequences, a file each, F32 [length, inputs], that the tool packs in every way, each with its label; training: what paper_rank.py
    is to know of them.
    """

    def __init__(self, folder, name, **training):
        self.name = name
        self.folder = tempfile.mkdtemp(dir=folder)
        self.training = training
        self.tested = False

    def write(self, part, sequences):
        """The sequences of "train" or "test", pairs of array and class."""
        self.tested |= part == "test"
        folder = os.path.join(self.folder, part)
        os.makedirs(folder)
        with open(folder + ".csv", "w", encoding="utf-8") as labels:
            labels.write("id,label\n")
            for number, (array, label) in enumerate(sequences):
                np.save(os.path.join(folder, f"{number:05}.npy"), array.astype("f4"))
                labels.write(f"{number:05},{label}\n")

    def pack(self, part, strategy, batch, seed=0, epochs=1):
        """The dataset, for batches of so many blocks, with a plan for each of the epochs. The tool leaves one that is there already as it is."""
        out = os.path.join(self.folder, f"{part}-{strategy}-{batch}-{seed}-{epochs}")
        folder, remainder = os.path.join(self.folder, part), "spread" if strategy == "block" else "pad"
        subprocess.run([BLOAD, "pack", "-q", folder, "--kind", "array", "--attributes", folder + ".csv", "-T", "longest", "--strategy", strategy,
                        "--world-size", str(RANKS), "--batch-size", str(batch), "--remainder", remainder, "--seed", str(seed),
                        "-o", out], check=True)
        if epochs > 1:
            subprocess.run([BLOAD, "plan", "-q", "--dataset", out, "--epochs", str(epochs - 1), "--seed", str(1000 * (seed + 1))], check=True)
        return out

    def batch(self, equal_sequences):
        """Blocks for a rank and update."""
        rows = self.training["batch"]
        if not equal_sequences:
            return rows
        words = words_of(self.pack("train", "block", rows))
        return max(1, round(rows * words["blocks"] / words["sequences"]))

    def job(self, way, seed):
        """A training, as paper_rank.py takes it."""
        strategy, cut, equal_sequences, fresh = WAYS[way]
        batch = self.batch(equal_sequences)
        test = self.pack("test", "block", 1) if self.tested else None
        # Only what is scored needs a packing of its own for every seed.
        train = self.pack("train", strategy, batch, seed if self.tested else 0, self.training["epochs"] if fresh else 1)
        return {**self.training, "way": way, "cut": cut, "batch": batch, "seed": seed, "dataset": train, "test": test}


def words_of(dataset):
    with open(os.path.join(dataset, "manifest.json"), encoding="utf-8") as file:
        return json.load(file)


# --- the data -------------------------------------------------------------------------------------------------------

def of_text(text):
    """(array [length, dimensions], label) of every line of a .ts file: dimensions are separated by colons, the label is the last."""
    for line in text.splitlines():
        if line and line[0] not in "#@":
            *dimensions, label = line.split(":")
            yield np.array([dimension.split(",") for dimension in dimensions], "f8").T, label


def labelled(chosen, folder, name, prepare, **training):
    """Train and test set of the wheel's data of that name; every dimension has mean 0 and deviation 1 over the train set."""
    parts = {}
    with zipfile.ZipFile(chosen.wheel) as files:
        for part in "train", "test":
            text = files.read(f"sktime/datasets/data/{name}/{name}_{part.upper()}.ts").decode()
            parts[part] = [(prepare(array), label) for array, label in of_text(text)]
    numbers = {label: number for number, label in enumerate(sorted({label for _, label in parts["train"]}))}
    steps = np.concatenate([array for array, _ in parts["train"]])
    data = Data(folder, name, inputs=steps.shape[1], classes=len(numbers), **training)
    for part, found in parts.items():
        if chosen.quick:  # they are sorted by class
            found = found[::len(found) // 40]
        data.write(part, (((array - steps.mean(0)) / steps.std(0), numbers[label]) for array, label in found))
    return data


def currents(array):
    """[samples, 1] of microamperes to tens of amperes, as [steps, WINDOW] of like size."""
    scaled = np.arcsinh(array[:, 0] * 100)
    return np.pad(scaled, (0, -len(scaled) % WINDOW), "edge").reshape(-1, WINDOW)


def action_genome_lengths():
    """The list that agrees with every published sum, or where it is absent one drawn to agree with the same ones: 4,077 videos shorter
    than 22 frames with 51,982 in all, and 3,387 of 22 to 94 with the rest of 166,785.
    """
    path = os.path.join(SHARED, "data/lengths/action-genome-reconstructed.txt")
    if os.path.exists(path):
        return np.loadtxt(path, dtype=int)
    short = 4.5 + 16.5 * (np.arange(4077) + 0.5) / 4077
    longer = 22 + 72 * ((np.arange(3386) + 0.5) / 3386) ** 5.05
    return np.rint(np.concatenate([short, longer, [94]])).astype(int)


def action_genome(chosen, folder, **training):
    """Every so many-th length, from the longest. Features and classes are noise: time does not depend on them."""
    lengths = np.sort(action_genome_lengths())[::-1][::chosen.part]
    inputs = 64 if chosen.quick else 2048
    random = np.random.default_rng(1)
    data = Data(folder, f"Action Genome, 1 of {chosen.part}", inputs=inputs, classes=26, **training)
    data.write("train", ((random.standard_normal((length, inputs), "f4"), length % 26) for length in lengths))
    return data


def all_data(chosen, folder):
    """Pairs of data and how often each way is trained on them."""
    batch = 2 if chosen.quick else 8
    small = {"batch": batch, "hidden": 64, "rate": 0.003}
    if os.path.exists(chosen.wheel) and chosen.data in (None, "plaid"):
        yield labelled(chosen, folder, "PLAID", currents, epochs=chosen.epochs or 20, **small), chosen.seeds
    if os.path.exists(chosen.wheel) and chosen.data in (None, "vowels"):
        yield labelled(chosen, folder, "JapaneseVowels", np.asarray, epochs=chosen.epochs or 30, **small), chosen.seeds
    if chosen.data in (None, "lengths"):
        training = {"batch": batch, "hidden": chosen.hidden, "rate": 0.001, "epochs": min(2, chosen.epochs or 2)}
        yield action_genome(chosen, folder, **training), chosen.rounds


# --- training -------------------------------------------------------------------------------------------------------

def run(folder, jobs):
    """Does the trainings one after the other, each rank a process that ends with this one; gives what rank 0 told of each."""
    path = os.path.join(folder, "jobs.json")
    told = path + ".told"
    with open(path, "w", encoding="utf-8") as file:
        json.dump(jobs, file)
    ranks = [subprocess.Popen([sys.executable, "-B", os.path.join(HERE, "paper_rank.py"), path, str(rank), str(RANKS)])
             for rank in range(RANKS)]
    try:
        if any([rank.wait() for rank in ranks]):
            sys.exit("bench/paper.py: a rank failed")
    finally:
        for rank in ranks:
            rank.kill()
            rank.wait()
    with open(told, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def compare(data, times):
    """Rows of the table. Ways take turns, so that what disturbs the machine disturbs all; of the seconds of an epoch the fewest tell."""
    jobs = [data.job(way, seed) for seed in range(times) for way in WAYS]
    told = run(data.folder, jobs)
    naive = None
    for way in WAYS:
        of_way = [(job, answer) for job, answer in zip(jobs, told, strict=True) if job["way"] == way]
        job, answer = of_way[0]
        words = words_of(job["dataset"])
        least = [min(second for _, answer in of_way for second in answer[clock]) for clock in ("seconds", "processor")]
        naive = naive or least
        times = [f"{figure:.2f}" for pair in zip(least, (a / b for a, b in zip(naive, least))) for figure in pair]
        yield (data.name, way, job["batch"] * RANKS, words["T"], answer["updates"], *times, f"{words['padding']:,}", f"{words['deleted']:,}",
               accuracy_of([answer["accuracy"] for _, answer in of_way]))


def accuracy_of(scores):
    if None in scores:
        return "-"
    return f"{100 * statistics.mean(scores):.1f} ± {100 * statistics.pstdev(scores):.1f}"


def options():
    parser = argparse.ArgumentParser(prog="bench/paper.sh", description="The paper's comparison, as a table.")
    parser.add_argument("--work", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--wheel", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--data", choices=("plaid", "vowels", "lengths"), help="these alone; lengths are Action Genome's (all)")
    parser.add_argument("--quick", action="store_true", help="some of the data, once: whether all of it works")
    parser.add_argument("--seeds", type=int, default=5, help="trainings of each way for the accuracy (5)")
    parser.add_argument("--epochs", type=int, help="of each training (PLAID 20, JapaneseVowels 30, Action Genome 2 at most)")
    parser.add_argument("--rounds", type=int, default=3, help="trainings of each way on Action Genome (3)")
    parser.add_argument("--part", type=int, default=4, help="every so many-th video of Action Genome (4)")
    parser.add_argument("--hidden", type=int, default=256, help="size of the state on Action Genome (256)")
    chosen = parser.parse_args()
    if chosen.quick:
        chosen.seeds, chosen.rounds, chosen.epochs, chosen.part = 1, 1, 1, 100
    return chosen


def main():
    chosen = options()
    print("|", " | ".join(COLUMNS), "|\n" + "|---" * len(COLUMNS) + "|", flush=True)
    with tempfile.TemporaryDirectory(dir=chosen.work) as folder:
        for data, times in all_data(chosen, folder):
            for row in compare(data, times):
                print("|", " | ".join(map(str, row)), "|", flush=True)


main()
