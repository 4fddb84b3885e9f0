"""Context parallelism: the steps of each rank are those of torch's load balancer for documents, and ranks compute the loss of the whole block."""
import os

import torch

import bload
from bload import contracts
from bload._core.context import segments_for
from harness import each, expand
from test_frameworks import Framework
from texts import T, TextTest

JOB = os.path.join(os.path.dirname(os.path.abspath(__file__)), "context_job.py")


@expand
class Context(TextTest, Framework):
    def divided(self, cp, blocks=T):
        """A view of the dataset for cp ranks."""
        steps = -(-blocks // (2 * cp)) * 2 * cp
        view = self.path(f"cp{cp}-{steps}")
        if not os.path.exists(view):
            self.bload("view", "-q", self.data, "-T", steps, "--cp", cp, "-o", view)
        return view

    def test_torch_divides_documents_alike(self):
        """For 2 to 16 ranks; its class is private, and may have another name in another release."""
        from torch.distributed.tensor.experimental._context_parallel._load_balancer import _PerDocumentHeadTailLoadBalancer
        for cp in range(2, 17):
            dataset, compared = bload.open(self.divided(cp, 160), ids=False), 0
            for block in dataset:
                edges = segments_for(block, cp, dataset.T).padded[0]
                documents = [width for width in torch.from_numpy(edges).diff().tolist() if width]
                balancer = _PerDocumentHeadTailLoadBalancer([documents], cp, "cpu")
                own = [contracts.context_parallel(block, cp, rank) for rank in range(cp)]
                self.assertEqual(balancer._generate_indices()[0].tolist(), [step for one in own for step in one["index"].tolist()], cp)
                self.assertEqual(len(set(own[0]["cost"].tolist())), 1)
                compared += len(documents) > 1
            self.assertGreater(compared, 5)

    @each((f"{layout}_{ranks}", layout, ranks) for layout, ranks in (("zigzag", 2), ("contiguous", 2), ("zigzag", 3)))
    def test_ranks_compute_the_loss_of_the_block(self, _, layout, ranks):
        """A random Llama on ranks over gloo: loss and gradients are those of the sequences one by one."""
        data, self.data = self.data, self.divided(ranks, 96)
        try:
            left = self.job(JOB, f"{layout}-{ranks}", layout, ranks=ranks)
        finally:
            self.data = data
        self.assertTrue(all(found == left[0] for found in left) and len(left[0]) == 6)
        for loss, expected, gradient in left[0]:
            self.assertAlmostEqual(loss, expected, delta=1e-4)
            self.assertLess(gradient, 1e-4)
