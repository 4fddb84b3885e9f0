"""The order of blocks and the position in it: every block once, equally many on every rank, and exactly the rest after a restart."""
import json
import os
import pickle
import unittest.mock
import warnings

import numpy as np

import bload.torch
from bload._core.sampler import BlockSampler, EpochBlocks, order
from packed import BATCH_SIZE, PackedTest, SEQUENCES, sequences_of


class Whole(PackedTest):
    def setUp(self):
        self.blocks = EpochBlocks(bload.open(self.data))
        self.B = len(self.blocks)

    def samplers(self, world, **options):
        return [BlockSampler(self.blocks, world, rank, **options) for rank in range(world)]

    def epoch(self, samplers, epoch):
        """What the ranks are given, [world][...]."""
        for one in samplers:
            one.set_epoch(epoch)
        return [list(one) for one in samplers]

    def test_blocks_are_enough_for_these_tests(self):
        self.assertGreaterEqual(self.B, 24)
        self.assertEqual(self.B % 4, 0)
        self.assertEqual(self.blocks.dataset.epochs, (0, 1, 2, 3))

    def test_every_block_once_on_equal_ranks(self):
        for world in (1, 2, 4):
            for shuffle in (True, False):
                given = self.epoch(self.samplers(world, shuffle=shuffle, batch_size=1), 0)
                self.assertEqual({len(one) for one in given}, {self.B // world})
                self.assertEachOnce(sum(given, []), range(self.B))

    def test_ranks_share_the_order_of_the_job(self):
        whole = list(BlockSampler(self.blocks, 2, seed=3))
        given = self.epoch(self.samplers(2, seed=3), 0)
        self.assertEqual([number for step in zip(*given) for number in step], whole)

    def test_unshuffled_order_is_that_of_the_file(self):
        self.assertEqual(list(BlockSampler(self.blocks, shuffle=False)), list(range(self.B)))

    def test_epochs_read_other_packings_of_the_same_sequences(self):
        sampler, seen = BlockSampler(self.blocks, 2), []
        for epoch in range(5):
            sampler.set_epoch(epoch)
            numbers = list(sampler)
            self.assertEqual({number // self.B for number in numbers}, {epoch % 4})
            self.assertEachOnce([n % self.B for n in numbers], range(self.B))
            contents = [sequences_of(self.blocks[number]) for number in numbers]
            self.assertEachOnce(sum(contents, []), range(SEQUENCES))
            seen.append({frozenset(one) for one in contents})
        self.assertEqual(len(set(map(frozenset, seen))), 4)

    def test_windows_give_any_epoch(self):
        blocks = EpochBlocks(bload.open(self.data), window=8, seed=1)
        sampler = BlockSampler(blocks)
        sampler.set_epoch(1000)
        self.assertEachOnce(sum((sequences_of(blocks[number]) for number in sampler), []), range(SEQUENCES))

    def test_length_is_what_an_iteration_gives(self):
        for sampler in [BlockSampler(self.blocks), *self.samplers(2)]:
            sampler.set_epoch(1)
            self.assertEqual(len(sampler), len(list(sampler)))

    def test_order_is_a_known_one(self):
        self.assertEqual(order(8, 0, 0).tolist(), KNOWN[0, 0])
        self.assertEqual(order(8, 7, 3).tolist(), KNOWN[7, 3])

    def test_orders_are_permutations_and_unlike(self):
        n = 300
        orders = [order(n, seed, epoch) for seed in range(5) for epoch in range(5)]
        for one in orders:
            self.assertEachOnce(one, range(n))
        # Of independent permutations the correlation of places is near 0, also when one is moved by a place.
        places = [np.argsort(one) for one in orders]
        for one in range(len(orders)):
            for other in range(one):
                for shift in (-1, 0, 1):
                    there = places[other][(np.arange(n) + shift) % n]
                    self.assertLess(abs(np.corrcoef(places[one], there)[0, 1]), 0.3)

    def test_wrong_arguments_are_named(self):
        for options in (dict(num_replicas=0), dict(num_replicas=2, rank=2), dict(num_replicas=2, rank=-1), dict(seed=-1),
                        dict(seed="a"), dict(batch_size=0), dict(remainder="keep"), dict(num_replicas=True)):
            with self.assertRaises(bload.SamplerError):
                BlockSampler(self.blocks, **options)
        with self.assertRaises(bload.SamplerError):
            BlockSampler(self.blocks).set_epoch(-1)
        for options in (dict(shuffle="no"), dict(whole_length=1)):
            with self.assertRaisesRegex(TypeError, "must be True or False, not "):
                BlockSampler(self.blocks, **options)
        for wrong, said in ((self.blocks.dataset, "EpochBlocks"), (self.data, "BlockDataset"), (None, "BlockDataset")):
            with self.assertRaisesRegex(TypeError, said):
                BlockSampler(wrong)
        for state in (None, "state", [], {"state": 1}):
            with self.assertRaises(bload.SamplerError):
                BlockSampler(self.blocks).load_state_dict(state)
        for options in (dict(window=0), dict(window=2.5), dict(seed=3)):
            with self.assertRaises(bload.SamplerError):
                EpochBlocks(self.blocks.dataset, **options)
        with self.assertRaisesRegex(TypeError, "opened by bload.open"):
            EpochBlocks(self.data)

    def test_blocks_of_epochs_count_as_a_list_does(self):
        self.assertEqual([int(one["sequence"][0]) for one in self.blocks[1:7:2]], [int(self.blocks[i]["sequence"][0]) for i in (1, 3, 5)])
        self.assertEqual(len(self.blocks[-3:]), 3)
        with self.assertRaisesRegex(TypeError, "must be an int or a slice, not 'a' of type str"):
            self.blocks["a"]
        with self.assertRaisesRegex(TypeError, "in dataset.sequences"):
            "a" in self.blocks

    def test_sampler_says_where_it_is(self):
        sampler = BlockSampler(self.blocks, 2, 1, seed=5)
        next(iter(sampler))
        self.assertRegex(repr(sampler), f"rank 1 of 2, batch_size = 2, seed = 5, shuffle = True: epoch 0, 2 of {self.B} blocks consumed")


# Computed once by a program of its own in C, of SplitMix64 as its author publishes it.
KNOWN = {(0, 0): [7, 3, 2, 4, 6, 0, 5, 1], (7, 3): [4, 2, 6, 5, 0, 3, 1, 7]}


class Resumed(PackedTest):
    def setUp(self):
        self.blocks = EpochBlocks(bload.open(self.data))
        self.B = len(self.blocks)

    def stopped(self, world, steps, epoch=1, **options):
        """The state that each rank of a job has after so many steps, and the numbers that they were given."""
        states, given = [], []
        for rank in range(world):
            sampler = BlockSampler(self.blocks, world, rank, **options)
            sampler.set_epoch(epoch)
            numbers = iter(sampler)
            given += [next(numbers) for _ in range(steps * BATCH_SIZE)]
            states.append(sampler.state_dict())
        self.assertTrue(all(state == states[0] for state in states))
        return json.loads(json.dumps(states[0])), given

    def resumed(self, state, world, **options):
        samplers = [BlockSampler(self.blocks, world, rank, **options) for rank in range(world)]
        for sampler in samplers:
            sampler.load_state_dict(state)
        return samplers

    def whole(self, epoch=1):
        sampler = BlockSampler(self.blocks)
        sampler.set_epoch(epoch)
        return list(sampler)

    def test_job_of_any_size_reads_exactly_the_rest(self):
        for before, after in ((1, 1), (1, 2), (2, 1), (2, 2), (7, 1), (2, 3), (1, 5)):
            steps = next(s for s in range(1, self.B) if (self.B - s * before * BATCH_SIZE) % (after * BATCH_SIZE) == 0)
            state, given = self.stopped(before, steps)
            samplers = self.resumed(state, after, remainder="pad")  # of whole epochs; of this one there is none
            self.assertEqual({sampler.padded for sampler in samplers}, {0})
            rest = [list(sampler) for sampler in samplers]
            self.assertEqual({len(one) for one in rest}, {(self.B - len(given)) // after})
            self.assertEachOnce(given + sum(rest, []), self.whole())

    def test_whole_job_goes_on_in_its_order(self):
        sampler = BlockSampler(self.blocks, 2)
        sampler.set_epoch(2)
        numbers = iter(sampler)
        first = [next(numbers) for _ in range(8)]
        again, = self.resumed(sampler.state_dict(), 1)
        self.assertEqual(first + list(again), self.whole(2))

    def test_restored_epoch_keeps_its_position_and_others_start_whole(self):
        state, given = self.stopped(2, 2)
        for epoch, left in ((1, self.B - len(given)), (2, self.B), (0, self.B)):
            sampler, = self.resumed(state, 1)
            self.assertEqual(len(sampler), self.B - len(given))
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                sampler.set_epoch(epoch)
                sampler.set_epoch(epoch)
            self.assertEqual([str(one.message).partition(": ")[2] for one in told], [] if epoch == 1 else [
                f"set_epoch({epoch}) leaves the restored position, {len(given)} blocks into epoch 1, of which the other "
                f"{self.B - len(given)} are not read: call set_epoch(1) to continue there"])
            self.assertTrue(all(one.filename == __file__ for one in told))
            self.assertEqual(len(sampler), left)
            self.assertEqual(len(list(sampler)), left)

    def test_epoch_behind_the_restored_one_is_whole(self):
        state, given = self.stopped(2, 2)
        sampler, = self.resumed(state, 1)
        rest = list(sampler)
        self.assertEqual(len(sampler), self.B - len(given))
        self.assertEqual(sampler.state_dict()["consumed"], self.B)
        self.assertEqual(list(sampler)[len(given):], rest)  # the same epoch again
        sampler.set_epoch(2)
        self.assertEqual(list(sampler), self.whole(2))

    def test_iteration_that_was_given_up_does_not_lose_the_position(self):
        state, given = self.stopped(2, 2)
        sampler, = self.resumed(state, 1)
        next(iter(sampler))
        self.assertEqual(len(list(sampler)), self.B - len(given))

    def test_finished_epoch_leads_to_the_next_one(self):
        sampler = BlockSampler(self.blocks)
        list(sampler)
        again, = self.resumed(sampler.state_dict(), 1)
        self.assertEqual((again.epoch, len(again), list(again)), (1, self.B, self.whole(1)))
        self.assertEqual(list(again), self.whole(1))
        again.set_epoch(0)
        self.assertEqual(list(again), self.whole(0))

    def test_finished_epoch_leaves_nothing(self):
        """Not when it is asked for twice, either; whether the state comes before or after set_epoch."""
        sampler = BlockSampler(self.blocks)
        list(sampler)
        for first, then in ("load_state_dict", "set_epoch"), ("set_epoch", "load_state_dict"):
            again = BlockSampler(self.blocks)
            for name in first, then:
                getattr(again, name)({"set_epoch": 0, "load_state_dict": sampler.state_dict()}[name])
            for _ in range(2):
                self.assertEqual((len(again), list(again), again.state_dict()["consumed"]), (0, [], self.B))
            again.set_epoch(1)
            self.assertEqual(list(again), self.whole(1))

    def test_state_of_another_epoch_than_was_told_is_followed_aloud(self):
        state, given = self.stopped(2, 2)
        for epoch in 0, 2:
            sampler = BlockSampler(self.blocks)
            sampler.set_epoch(epoch)
            with self.assertWarnsRegex(UserWarning, f"set_epoch.{epoch}. was called, but the state continues in epoch 1"):
                sampler.load_state_dict(state)
            self.assertEqual((sampler.epoch, len(sampler)), (1, self.B - len(given)))
            list(sampler)
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                sampler.load_state_dict(state)  # back to it: nothing was told since

    def test_epoch_without_its_remainder_is_finished(self):
        world = next(w for w in range(2, self.B) if self.B % (w * BATCH_SIZE))
        sampler = BlockSampler(self.blocks, world, 0, remainder="drop")
        with self.assertWarnsRegex(UserWarning, "are left out"):
            number = len(list(sampler))
        for state in sampler.state_dict(), sampler.state_dict(consumed=number * world):
            self.assertEqual(state["consumed"], self.B)
            again, *_ = self.resumed(state, world, remainder="drop")
            self.assertEqual((again.epoch, len(again)), (1, number))

    def test_told_position_counts_for_what_was_read_ahead(self):
        sampler = BlockSampler(self.blocks, 2, 0)
        numbers = iter(sampler)
        ahead = [next(numbers) for _ in range(8)]
        again = BlockSampler(self.blocks, 2, 0)
        again.load_state_dict(sampler.state_dict(consumed=8))
        self.assertEqual(list(again)[:4], ahead[4:])

    def test_seed_and_shuffling_are_the_states(self):
        for options in (dict(seed=5), dict(shuffle=False)):
            state, given = self.stopped(1, 2, **options)
            sampler, = self.resumed(state, 1)
            self.assertEqual(given + list(sampler), self.resumed({**state, "consumed": 0}, 1)[0].numbers().tolist())

    def test_remainder_is_an_error_first(self):
        state, given = self.stopped(1, 1)
        world = next(w for w in range(2, self.B) if self.B % (w * BATCH_SIZE) == 0)
        self.assertTrue((self.B - len(given)) % (world * BATCH_SIZE))
        with self.assertRaisesRegex(bload.SamplerError, f"{self.B - len(given)} blocks are left.*\"pad\" repeats .*\"drop\" leaves out"):
            self.resumed(state, world)
        sampler = BlockSampler(self.blocks, world, 0)
        sampler.set_epoch(3)
        with self.assertRaises(bload.SamplerError):
            sampler.load_state_dict(state)
        self.assertEqual((sampler.epoch, sampler.begin), (3, 0))

    def test_remainder_of_a_whole_epoch_is_an_error_when_the_sampler_is_made(self):
        """Also of one that is made to go on: it would end with an error an epoch later."""
        world = next(w for w in range(2, self.B) if self.B % (w * BATCH_SIZE))
        for rank in None, 0, world - 1:
            with self.assertRaisesRegex(bload.SamplerError, f"an epoch has {self.B} blocks, which is not a multiple of {world * BATCH_SIZE}"):
                BlockSampler(self.blocks, world, rank)
            for remainder in "pad", "drop":
                BlockSampler(self.blocks, world, rank, remainder=remainder)

    def test_remainder_is_padded_or_dropped_and_counted(self):
        state, given = self.stopped(1, 1)
        left = self.B - len(given)
        for world in (3, 4, 5, 7):
            step = world * BATCH_SIZE
            for remainder, count in (("pad", -(-left // step)), ("drop", left // step)):
                samplers = self.resumed(state, world, remainder=remainder)
                with warnings.catch_warnings(record=True) as told:
                    warnings.simplefilter("always")
                    rest = [list(sampler) for sampler in samplers]
                self.assertEqual({len(one) for one in rest} | {len(sampler) for sampler in samplers}, {count * BATCH_SIZE})
                numbers, extra = sum(rest, []), count * step - left
                self.assertEqual((samplers[0].padded, samplers[0].dropped), (max(extra, 0), max(-extra, 0)))
                self.assertEqual(len(set(numbers)), min(left, count * step))
                self.assertFalse(set(numbers) & set(given))
                self.assertEqual(len(told), world if extra else 0)
                for one in told:
                    self.assertRegex(str(one.message), f"{abs(extra)} blocks are (read twice|left out)")
                self.assertLessEqual(samplers[0].state_dict()["consumed"], self.B)

    def test_states_of_something_else_are_refused(self):
        state, _ = self.stopped(2, 2)
        wrong = [{**state, name: value} for name, value in (
            ("world_size", 0), ("world_size", "two"), ("seed", None), ("epoch", -1), ("consumed", self.B + 1), ("consumed", 1.5),
            ("blocks", self.B + 4), ("plan_digest", "0" * 16))]
        wrong += [{key: value for key, value in state.items() if key != name} for name in state]
        for one in wrong:
            sampler = BlockSampler(self.blocks)
            with self.assertRaises(bload.Error) as raised:
                sampler.load_state_dict(one)
            self.assertTrue(str(raised.exception).strip())
            self.assertEqual((sampler.epoch, sampler.begin), (0, 0))
        with self.assertRaises(bload.SamplerError):
            BlockSampler(self.blocks).state_dict(consumed=self.B + 1)

    def test_sampler_can_be_sent_elsewhere(self):
        state, given = self.stopped(2, 2)
        sampler, = self.resumed(state, 1)
        again = pickle.loads(pickle.dumps(sampler))
        self.assertEqual(list(again), list(sampler))

    def test_job_that_nobody_divides_is_told_once(self):
        """In a plain loop on several ranks, each reads all blocks, unless Accelerate divides them."""
        dataset = bload.torch.BlockDataset(self.data)
        for ranks, options, count in ((2, {}, 1), (2, {"num_replicas": 2}, 1), (2, {"num_replicas": 1}, 0), (1, {}, 0),
                                      (2, {"num_replicas": 2, "rank": 0}, 0)):
            with unittest.mock.patch.dict(os.environ, WORLD_SIZE=str(ranks)), warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                sampler = bload.torch.BlockSampler(dataset, **options)
                list(sampler), list(sampler)
            self.assertEqual(["each of the job's 2 ranks reads all blocks" in str(one.message) for one in told], [True] * count, options)
