"""bload.launch on clusters of the released engines. The laws are those of python/tests/launching.py."""
import os
import re
import shutil
import signal
import unittest

import clusters
from launching import PACK, SLOW, TASKS, Laws


class OnCluster(Laws):
    """The laws on a cluster that lives as long as the class."""
    long = True
    start = None

    @classmethod
    def setUpClass(cls):
        if cls.start is None:
            raise unittest.SkipTest("no cluster of its own")
        super().setUpClass()
        cls.cluster = clusters.Cluster()
        try:
            cls.engine = cls.start(cls.cluster)
        except BaseException:
            cls.tearDownClass()
            raise

    @classmethod
    def tearDownClass(cls):
        cls.cluster.close()
        super().tearDownClass()

    def test_worker_killed(self):
        """The worker takes the tool with it, and the task is run again elsewhere."""
        process = self.begin(*PACK, "-o", "lost", program=self.script(SLOW))
        tool, worker = self.pids()
        os.kill(worker, signal.SIGKILL)
        self.end(process, 0)
        self.assert_ends(tool)
        self.assert_alone("lost")


class Ray(OnCluster):
    start = staticmethod(clusters.ray)


class Dask(OnCluster):
    start = staticmethod(clusters.dask)


class Spark(OnCluster):
    start = staticmethod(clusters.spark)

    @classmethod
    def setUpClass(cls):
        if not shutil.which("java"):
            raise unittest.SkipTest("no java")
        super().setUpClass()

    def messages(self, text):
        """Spark's own warnings are left out."""
        return "".join(re.findall(r"^bload.*\n", text, re.M))


del OnCluster, Laws
