"""One dataset in many hands: pickled, forked, read by threads."""
import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import bload
from harness import each
from sample import Sample, same

HANDS = 4


def read(blocks):
    return [{name: value.copy() if hasattr(value, "copy") else value for name, value in block.items()} for block in blocks]


class Workers(Sample):
    def opened(self, way):
        return bload.open(self.packed(way), verify=True, mask=True, open_shards=2, resident=1 << 20)

    @each(("shards", "compressed", "joined-zstd"))
    def test_pickle(self, way):
        """What arrives is the same dataset with the same options, whatever was read before."""
        dataset = self.opened(way)
        expected = read(dataset)
        dataset.sequence(0)
        again = pickle.loads(pickle.dumps(dataset))
        self.assertEqual((again.path, again._checked, again._options, again._open_shards, again._resident),
                         (dataset.path, dataset._checked, dataset._options, 2, 1 << 20))
        for one, other in zip(again, expected):
            same(self, one, other)

    def test_pickled_epoch(self):
        epoch = self.opened("shards").epoch(3, window=4, seed=1)
        again = pickle.loads(pickle.dumps(epoch))
        self.assertEqual((again.number, again.window, again.seed), (3, 4, 1))
        for one, other in zip(again, epoch):
            same(self, one, other)

    def test_errors(self):
        """Errors come through a pipe as they are; one text alone makes one again, as DataLoader does."""
        for cls in bload.DamagedError, bload.SequenceError, bload.DependencyError:
            error = pickle.loads(pickle.dumps(cls("it is torn", "/a")))
            self.assertEqual((type(error), str(error), error.fault, error.path), (cls, "/a: it is torn", "it is torn", "/a"))
            self.assertEqual(str(cls(str(error))), "/a: it is torn")

    @each(("shards", "compressed"))
    def test_forked(self, way):
        """Workers that are forked of a process that has read already, by threads too."""
        dataset = self.opened(way)
        with ThreadPoolExecutor(HANDS) as pool:
            expected = list(pool.map(lambda i: read([dataset[i]])[0], range(len(dataset))))
        with ProcessPoolExecutor(HANDS, multiprocessing.get_context("fork")) as pool:
            for one, other in zip(pool.map(dataset.__getitem__, range(len(dataset))), expected):
                same(self, one, other)

    def test_spawned(self):
        dataset = self.opened("shards")
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
            same(self, pool.submit(dataset.__getitem__, 3).result(), dataset[3])

    @each(("split", "compressed", "joined-zstd"))
    def test_threads(self, way):
        """Threads share a dataset that holds fewer shards open than they use, its table and its epochs."""
        expected = read(self.opened(way))
        drawn = read(self.opened(way).epoch(1, window=7))
        for _ in range(3):
            dataset = self.opened(way)
            epoch = dataset.epoch(1, window=7)
            with ThreadPoolExecutor(2 * HANDS) as pool:
                stored = pool.map(dataset.__getitem__, range(len(dataset)))
                composed = pool.map(epoch.__getitem__, range(len(epoch)))
                whole = pool.map(dataset.sequence, dataset.sequences["id"])
                for one, other in zip([*stored, *composed], [*expected, *drawn]):
                    same(self, one, other)
                self.assertEqual([len(next(iter(fields.values()))) for fields in whole], dataset.sequences["length"].tolist())
