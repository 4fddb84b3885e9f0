"""Blocks as tensors, through torch's own DataLoader: the same as numpy's, whoever reads them, and nobody else's memory."""
import copy
import itertools
import os
import pickle
import unittest.mock

import numpy as np
import torch
from torch.utils.data import DataLoader, DistributedSampler

import bload.torch
from bload import contracts
from bload._core import mapping
from bload.torch import BlockDataset, BlockSampler, RankBlockSampler, collate, tensor
from packed import PackedTest, SEQUENCES, T, sequences_of, write_sequences

READERS = (("alone", {}), ("one", dict(num_workers=1)), ("two", dict(num_workers=2, persistent_workers=True)),
           ("spawned", dict(num_workers=1, multiprocessing_context="spawn", persistent_workers=True)))


def stored(tensor):
    """The bytes that go along when a tensor is sent."""
    return (tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor.storage()).nbytes()


def per_block(batch):
    """The blocks of a collated batch, each as a dict."""
    return [{name: value[b] for name, value in batch.items()} for b in range(len(batch["num_sequences"]))]


class Tensors(PackedTest):
    def setUp(self):
        self.blocks = BlockDataset(self.data, segment_ids=True, position_ids=True, mask=True)
        self.arrays = bload.open(self.data, segment_ids=True, position_ids=True, mask=True)

    def assertBlock(self, tensors, arrays):
        self.assertEqual(set(tensors), set(arrays) - {"ids"})
        for name, value in tensors.items():
            self.assertIsInstance(value, torch.Tensor, name)
            self.assertEqual(str(value.dtype)[6:], str(np.asarray(arrays[name]).dtype), name)
            self.assertTrue(np.array_equal(value.numpy(), arrays[name]), name)

    def test_batches_are_walked_through(self):
        """What moves a batch to a device by torch's pytrees sees its tensors, and makes a batch again."""
        from torch.utils import _pytree
        batch = bload.torch.collate([BlockDataset(self.data, ids=True)[0]])
        moved = _pytree.tree_map(lambda value: value + 1 if isinstance(value, torch.Tensor) else value, batch)
        self.assertEqual((type(moved), list(moved)), (bload.torch.Tensors, list(batch)))
        self.assertTrue(torch.equal(moved["length"], batch["length"] + 1))
        self.assertEqual(moved["ids"], batch["ids"])

    def test_blocks_are_those_of_numpy(self):
        self.assertEqual(len(self.blocks), len(self.arrays))
        self.assertEqual((self.blocks.world_size, self.blocks.batch_size), (2, 2))
        for tensors, arrays in itertools.zip_longest(self.blocks, self.arrays):
            self.assertBlock(tensors, arrays)
        self.assertBlock(self.blocks[-1], self.arrays[-1])
        with self.assertRaises(IndexError):
            self.blocks[-len(self.arrays) - 1]

    def test_slices_are_lists_of_blocks(self):
        for key in slice(1, 6, 2), slice(-3, None), slice(99, 200), slice(None, None, -1):
            given = self.blocks[key]
            self.assertIsInstance(given, list)
            for tensors, arrays in itertools.zip_longest(given, self.arrays[key]):
                self.assertBlock(tensors, arrays)
        for wrong in "0", 1.0, [0, 1], None:
            self.assertRaisesRegex(TypeError, "must be an int or a slice, not ", self.blocks.__getitem__, wrong)
        self.assertBlock(self.blocks[torch.tensor(2)], self.arrays[2])
        self.assertRaisesRegex(TypeError, "in dataset.sequences", lambda: "000.npy" in self.blocks)
        self.assertRaisesRegex(TypeError, "leave out writable", BlockDataset, self.data, writable=False)
        self.assertRaisesRegex(bload.OptionError, "no field", BlockDataset, self.data, fields="frames")

    def test_numbers_behind_the_last_are_of_further_epochs(self):
        epoch = self.arrays.epoch(2)
        for i in (0, len(epoch) - 1):
            self.assertBlock(self.blocks[2 * len(epoch) + i], epoch[i])
        with self.assertRaises(bload.EpochError):
            self.blocks[4 * len(epoch)]

    def test_storages_are_no_larger_than_blocks(self):
        for value in self.blocks[3].values():
            self.assertEqual(stored(value), value.numel() * value.element_size())

    def test_writing_changes_no_later_reading(self):
        block = self.blocks[0]
        for value in block.values():
            value.zero_()
        self.assertBlock(self.blocks[0], self.arrays[0])

    def test_large_blocks_are_mapped_and_sent_whole(self):
        with unittest.mock.patch.object(mapping, "WORTH_MAPPING", 1):
            blocks = BlockDataset(self.data)
            blocks[0]["array"].zero_()
            for given in blocks, DataLoader(blocks, batch_size=None, num_workers=1):
                for block, tensors in itertools.zip_longest(given, self.blocks):
                    self.assertEqual(stored(block["array"]), T * 2 * 4)
                    self.assertTrue(torch.equal(block["array"], tensors["array"]))

    def test_dataset_can_be_sent_elsewhere(self):
        for again in (pickle.loads(pickle.dumps(self.blocks)), copy.deepcopy(self.blocks)):
            self.assertBlock(again[5], self.arrays[5])

    def test_types_that_torch_has_not_become_wider(self):
        for stored, expected in (("uint16", torch.int32), ("uint32", torch.int64), ("float16", torch.float16), ("uint8", torch.uint8)):
            folder = self.path(f"of-{stored}")
            write_sequences(folder, np.dtype(stored))
            data = self.pack(stored, folder, "--kind", "array", "-T", T)
            got = BlockDataset(data)[0]["array"]
            self.assertEqual(got.dtype, expected)
            self.assertTrue(np.array_equal(got.numpy(), bload.open(data)[0]["array"]))

    def test_bits_of_bfloat16_are_read_as_such(self):
        values = torch.tensor([1.0, -2.5, 3e38], dtype=torch.bfloat16)
        bits = values.view(torch.int16).numpy().view(np.uint16)
        self.assertTrue(torch.equal(tensor(bits, "BF16"), values))

    def test_attributes_are_tensors_with_a_value_for_each_sequence(self):
        with open(self.path("classes.csv"), "w") as file:
            file.write("id,class,weight\n" + "".join(f"{k:03},{k % 7},{k / 2}\n" for k in range(SEQUENCES)))
        blocks = BlockDataset(self.packed("attributes", "--attributes", self.path("classes.csv")))
        batch = next(iter(DataLoader(blocks, batch_size=2, num_workers=1)))
        there = batch["length"] > 0
        self.assertEqual((batch["class"].dtype, batch["weight"].dtype), (torch.int64, torch.float64))
        self.assertTrue(torch.equal(batch["class"][there], batch["sequence"][there] % 7))
        self.assertTrue(torch.equal(batch["weight"][there], batch["sequence"][there].double() / 2))
        self.assertEqual(contracts.flash_attention(batch)["indices"].numel(), int(batch["length"].sum()))

    def test_compressed_blocks_are_the_same(self):
        data = self.packed("compressed", "--compress", "zstd")
        for tensors, arrays in zip(BlockDataset(data, segment_ids=True, position_ids=True, mask=True), self.arrays):
            self.assertBlock(tensors, arrays)
        loader = DataLoader(BlockDataset(data), batch_size=2, num_workers=2)
        self.assertEachOnce(sum((sequences_of(block) for batch in loader for block in per_block(batch)), []), range(SEQUENCES))


class Loaded(PackedTest):
    def loader(self, sampler=None, dataset=None, **options):
        dataset = dataset or BlockDataset(self.data)
        return DataLoader(dataset, batch_size=dataset.batch_size, sampler=sampler(dataset) if sampler else None, **options)

    def contents(self, loader):
        return [sequences_of(block) for batch in loader for block in per_block(batch)]

    def test_default_collation_stacks_blocks(self):
        batch = next(iter(self.loader()))
        shapes = {name: tuple(value.shape) for name, value in batch.items()}
        S = bload.open(self.data).S
        self.assertEqual(shapes, {"array": (2, T, 2), "cu_seqlens": (2, S + 1), "num_sequences": (2,), "sequence": (2, S),
                                  "length": (2, S)})

    def test_collate_keeps_ids_as_lists(self):
        loader = self.loader(dataset=BlockDataset(self.data, ids=True), collate_fn=collate)
        arrays = bload.open(self.data)
        for k, batch in enumerate(loader):
            self.assertEqual(batch["ids"], [arrays[2 * k]["ids"], arrays[2 * k + 1]["ids"]])
            self.assertEqual(tuple(batch["array"].shape), (2, T, 2))
        self.assertNotIn("ids", collate([BlockDataset(self.data)[0]]))

    def test_files_of_pictures_are_lists_of_tensors(self):
        files = [np.arange(5, dtype=np.uint8), np.zeros(0, np.uint8), np.arange(9, dtype=np.uint8)]
        for file in files:
            file.flags.writeable = False
        given = BlockDataset(self.data).given("frames_jpeg", files)
        self.assertEqual([one.tolist() for one in given], [one.tolist() for one in files])
        batch = collate([{"frames_jpeg": given, "num_sequences": torch.tensor(1)}] * 2)
        self.assertEqual((batch["frames_jpeg"], batch["num_sequences"].tolist()), ([given, given], [1, 1]))

    def test_workers_send_small_tensors_by_value(self):
        for name, options in (("blocks", dict(batch_size=None)), ("batches", {}), ("collate", dict(collate_fn=collate))):
            for least, shared in ((1 << 40, set()), (T * 2 * 4, {"array"})):
                with self.subTest(name, least=least), unittest.mock.patch.object(bload.torch, "WORTH_SHARING", least):
                    alone, sent = (DataLoader(BlockDataset(self.data), num_workers=workers, **options) for workers in (0, 1))
                    for one, other in itertools.zip_longest(alone, sent):
                        self.assertEqual(list(one), list(other))
                        self.assertEqual({key for key, value in other.items() if value.is_shared()}, shared)
                        for key, value in one.items():
                            self.assertEqual((value.dtype, value.shape), (other[key].dtype, other[key].shape))
                            self.assertTrue(torch.equal(value, other[key]))

    def test_what_numpy_has_not_is_sent_too(self):
        values = bload.torch.Tensors(half=torch.ones(3, dtype=torch.bfloat16), weight=torch.ones(2, requires_grad=True), ids=["a", ""],
                                     files=[[torch.ones(2)], [torch.zeros(1), torch.ones(0)]])
        again = pickle.loads(pickle.dumps(values))
        self.assertEqual(again["ids"], ["a", ""])
        self.assertEqual([[one.tolist() for one in files] for files in again["files"]], [[[1, 1]], [[0], []]])
        for key in "half", "weight":
            self.assertEqual((again[key].dtype, again[key].requires_grad), (values[key].dtype, values[key].requires_grad))
            self.assertTrue(torch.equal(again[key], values[key]))

    def test_stock_sampler_repeats_nothing(self):
        given = [self.contents(self.loader(lambda dataset: DistributedSampler(dataset, 2, rank))) for rank in range(2)]
        self.assertEqual(len(given[0]), len(given[1]))
        self.assertEachOnce(sum(sum(given, []), []), range(SEQUENCES))

    def test_workers_read_every_epoch_of_every_rank(self):
        for name, options in READERS:
            with self.subTest(name):
                loaders = [self.loader(lambda dataset: BlockSampler(dataset, 2, rank), **options) for rank in range(2)]
                packings = set()
                for epoch in range(3):
                    for loader in loaders:
                        loader.sampler.set_epoch(epoch)
                    given = [self.contents(loader) for loader in loaders]
                    self.assertEqual({len(one) for one in given}, {len(loaders[0].dataset) // 2})
                    self.assertEachOnce(sum(sum(given, []), []), range(SEQUENCES))
                    packings.add(frozenset(map(frozenset, sum(given, []))))
                self.assertEqual(len(packings), 3)

    def test_workers_give_what_one_process_gives(self):
        first, *others = [list(self.loader(lambda dataset: BlockSampler(dataset, seed=4), **options)) for _, options in READERS[:-1]]
        for other in others:
            for one, same in itertools.zip_longest(first, other):
                self.assertTrue(all(torch.equal(one[name], same[name]) for name in one))

    def test_blocks_without_batches_leave_workers_small(self):
        loader = DataLoader(BlockDataset(self.data), batch_size=None, num_workers=1)
        for block in loader:
            self.assertEqual(stored(block["array"]), T * 2 * 4)

    def test_told_position_resumes_where_workers_read_ahead(self):
        loader = self.loader(lambda dataset: BlockSampler(dataset, 2, 0), num_workers=2, prefetch_factor=2)
        batches = iter(loader)
        seen = [sequences_of(block) for _ in range(2) for block in per_block(next(batches))]
        ahead, told = loader.sampler.state_dict()["consumed"], loader.sampler.state_dict(consumed=2 * 2 * 2)
        self.assertGreater(ahead, told["consumed"])
        del batches
        again = self.loader(lambda dataset: BlockSampler(dataset, 2, 0))
        again.sampler.load_state_dict(told)
        self.assertEqual(len(again), len(loader) - 2)
        whole = self.contents(self.loader(lambda dataset: BlockSampler(dataset, 2, 0)))
        self.assertEqual(seen + self.contents(again), whole)

    def test_damage_is_told_by_the_packages_error_from_workers_too(self):
        data = self.packed("damaged")
        shard = os.path.join(data, "shards/00000/shard-00000000.safetensors")
        os.truncate(shard, os.path.getsize(shard) // 2)
        for workers in (0, 1):
            with self.assertRaisesRegex(bload.Error, "shard-00000000"):
                list(self.loader(dataset=BlockDataset(data), num_workers=workers))


class Kinds(PackedTest):
    def setUp(self):
        self.blocks = BlockDataset(self.data)

    def test_sampler_of_a_rank_is_a_distributed_sampler(self):
        self.assertNotIsInstance(BlockSampler(self.blocks), DistributedSampler)
        self.assertNotIsInstance(BlockSampler(self.blocks, 2), DistributedSampler)
        sampler = BlockSampler(self.blocks, 2, 1)
        self.assertIsInstance(sampler, DistributedSampler)
        self.assertIsInstance(sampler, BlockSampler)
        self.assertEqual((sampler.num_samples, sampler.total_size), (len(self.blocks) // 2, len(self.blocks)))

    def test_sampler_can_be_sent_elsewhere(self):
        for sampler in (BlockSampler(self.blocks, 2, seed=2), BlockSampler(self.blocks, 2, 1, seed=2)):
            again = pickle.loads(pickle.dumps(sampler))
            self.assertIs(type(again), type(sampler))
            self.assertEqual(list(again), list(sampler))

    def test_rank_without_a_group_needs_their_number(self):
        with self.assertRaisesRegex(bload.SamplerError, "num_replicas"):
            BlockSampler(self.blocks, rank=0)
        self.assertEqual(BlockSampler(self.blocks).num_replicas, 1)

    def test_parts_of_the_blocks_are_refused(self):
        for part in (torch.utils.data.Subset(self.blocks, range(4)), torch.utils.data.random_split(self.blocks, [4, len(self.blocks) - 4])[0]):
            for rank in None, 0:
                with self.assertRaisesRegex(TypeError, "split the sequences before packing"):
                    BlockSampler(part, 1, rank)
            self.assertEqual(len(list(DataLoader(part, batch_size=2, sampler=DistributedSampler(part, 2, 0)))), 1)
        with self.assertRaisesRegex(TypeError, "BlockDataset"):
            BlockSampler(torch.utils.data.ConcatDataset([self.blocks, self.blocks]))

    def test_number_of_ranks_is_the_groups(self):
        torch.distributed.init_process_group("gloo", init_method=f"file://{self.path('group')}", rank=0, world_size=1)
        try:
            self.assertIsInstance(BlockSampler(self.blocks, rank=0), RankBlockSampler)
        finally:
            torch.distributed.destroy_process_group()

