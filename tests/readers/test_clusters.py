"""The recipes of docs/clusters.md, run as they stand: each makes the dataset that one process makes. Launchers that are not here are
skipped; ssh is played by a script that stays, and Kubernetes by running each pod's command with its number."""
import json
import os
import re
import shutil
import subprocess
import sys

import clips
import tool
from test_folders import write
from page import blocks

sys.path.append(os.path.join(tool.ROOT, "tests", "remote"))
from store import Store     # noqa: E402, pylint: disable=wrong-import-position

IMAGE_PATH = "/corpus"


def sections():
    parts = re.split(r"^## (.*)\n", tool.text(os.path.join(tool.ROOT, "docs/clusters.md")), flags=re.M)
    return {"": parts[0], **dict(zip(parts[1::2], parts[2::2]))}


class Clusters(tool.Tool):
    def setUp(self):
        self.at = self.path(self.id().rsplit(".", 1)[1])
        self.text = sections()
        os.makedirs(os.path.join(self.at, "videos"))
        for i in range(4):
            shutil.copy(clips.clip("h264.mp4" if i % 2 else "mpeg4.avi"), os.path.join(self.at, "videos", f"{i}.{'mp4' if i % 2 else 'avi'}"))
        (configuration,) = [block for language, block in blocks(self.text[""]) if language == "yaml"]
        write(os.path.join(self.at, "dataset.yaml"), configuration.encode())
        self.bload("pack", "-q", "-c", "dataset.yaml", "-o", "alone", cwd=self.at)
        self.shards = len(self.names("alone", "shards/00000"))
        self.assertGreater(self.shards, 3)

    def environment(self, **more):
        path = os.pathsep.join([os.path.join(self.at, "bin"), os.path.dirname(os.path.abspath(tool.BLOAD)), os.environ["PATH"]])
        allowed = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
                   "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe"}  # Open MPI 4, and 5 and later
        return {**os.environ, "PATH": path, **allowed, **more}

    def run_line(self, command, status=0, **more):
        done = subprocess.run(["bash", "-o", "pipefail", "-c", command], cwd=self.at, env=self.environment(**more), capture_output=True,
                              text=True, timeout=120)
        self.assertEqual(done.returncode, status, f"{command}\n{done.stdout}{done.stderr}")
        return done.stderr

    def run_section(self, title):
        commands = [block for language, block in blocks(self.text[title]) if not language]
        for command in commands:
            self.run_line(command)
        return commands

    def names(self, *where):
        return sorted(os.listdir(os.path.join(self.at, *where)))

    def assert_same(self, name):
        """It is the dataset that one process made, and nothing else is in it."""
        done = subprocess.run(["diff", "-r", "alone", name], cwd=self.at, capture_output=True, text=True)
        self.assertEqual(done.stdout, "")
        self.bload("verify", "-q", os.path.join(self.at, name))

    def need(self, *names):
        for name in names:
            if not shutil.which(name):
                self.skipTest("no " + name)

    def unusable(self):
        """One of the videos cannot be decoded as it was counted: the first task that meets it ends with status 3."""
        shutil.rmtree(os.path.join(self.at, "alone"))
        write(os.path.join(self.at, "videos/0.mp4"), b"no video")
        self.bload("pack", "-q", "-c", "dataset.yaml", "-o", "alone", cwd=self.at, status=3)

    def test_shell_loop(self):
        write(os.path.join(self.at, "bin/ssh"), b'#!/bin/sh\n[ "$1" = -n ] || exit 9\necho $2 >>"$HOSTS"\ncd / && exec sh -c "$3"\n')
        os.chmod(os.path.join(self.at, "bin/ssh"), 0o755)
        for command in [block for language, block in blocks(self.text["A shell loop"]) if not language]:
            self.run_line(command, HOSTS=os.path.join(self.at, "hosts.log"))
        hosts = sorted(tool.text(os.path.join(self.at, "hosts.log")).split())
        self.assertEqual(hosts, ["node1", "node2", "node3"])
        self.assert_same("loop")
        self.assert_same("hosts")

    def test_launcher(self):
        """The commands of the page, on this machine: of one engine they stand there, and with scans for another one."""
        lines = [line for language, block in blocks(self.text["On Ray, Dask, Spark and other engines"]) if language == "sh"
                 for line in block.splitlines()]
        local, = (line for line in lines if " local " in line)
        self.run_line(local.replace("python3", sys.executable))
        self.assert_same("out")
        shutil.rmtree(os.path.join(self.at, "out"))
        for line in lines[-2:]:
            self.run_line(line.replace("python3", sys.executable).replace(" ray ", " local "))
        self.assert_same("out")

    def test_parallel(self):
        self.need("parallel")
        self.assertEqual(len(self.run_section("GNU parallel")), 5)
        self.assert_same("out")

    def test_mpi(self):
        self.need("mpirun")
        self.assertEqual(len(self.run_section("MPI")), 3)
        self.assert_same("ranks")

    def test_mpi_with_an_input_that_cannot_be_used(self):
        self.need("mpirun")
        self.unusable()
        pack, finish, verify = [block for language, block in blocks(self.text["MPI"]) if not language]
        self.run_line(pack)
        self.run_line(finish, status=3)
        self.run_line(verify)
        self.assert_same("ranks")

    def job(self, name, output="pods"):
        """The document of the Job with that name in the manifest that the command of the page with that output prints, and the command of its
        container."""
        (command,) = [block for language, block in blocks(self.text["Kubernetes"]) if language == "sh" and f" -o {output} >" in block]
        self.run_line(command.replace("python3", sys.executable))
        (document,) = [part for part in tool.text(os.path.join(self.at, "bload.yaml")).split("---\n")
                       if "kind: Job\n" in part and f"  name: {name}\n" in part]
        self.assertEqual(f'workingDir: "{IMAGE_PATH}"\n' in document, output == "pods")
        return document, json.loads(re.search(r"command: \[sh, -c, (.*)\]\n", document)[1])

    def run_jobs(self, finish_status=0):
        _, plan = self.job("bload-plan")
        document, pack = self.job("bload-pack")
        _, finish = self.job("bload-finish")
        completions = int(re.search(r"completions: (\d+)\n", document)[1])
        self.assertIn(f"--task auto/{completions} ", pack)
        self.run_line(plan)
        for index in reversed(range(completions)):
            self.run_line(pack, JOB_COMPLETION_INDEX=str(index))
        self.run_line(pack, status=2, JOB_COMPLETION_INDEX=str(completions))
        self.run_line(finish, status=finish_status)
        self.assert_same("pods")

    def test_kubernetes(self):
        self.run_jobs()

    def test_kubernetes_with_an_input_that_cannot_be_used(self):
        self.unusable()
        self.run_jobs()

    def test_kubernetes_without_a_volume(self):
        """The pods of the one Job, which share a store."""
        store = self.enterContext(Store())
        for name in os.listdir(os.path.join(self.at, "videos")):
            with open(os.path.join(self.at, "videos", name), "rb") as file:
                store.put("corpus", f"videos/{name}", file.read())
        store.put("datasets", "other", b"")
        file = os.path.join(self.at, "dataset.yaml")
        tool.write(file, tool.text(file).replace("[videos/]", re.search(r"`sources: (\[s3:.*?\])`", self.text["Kubernetes"])[1]))
        keys = {"AWS_ACCESS_KEY_ID": "AKTEST", "AWS_SECRET_ACCESS_KEY": "se/cret+KEY=", "AWS_ENDPOINT_URL": store.url}
        shutil.rmtree(os.path.join(self.at, "alone"))
        self.run_line("bload pack -q -c dataset.yaml -o alone", **keys)
        document, command = self.job("bload", "s3://datasets/videos")
        count = int(re.search(r"parallelism: (\d+) ", document)[1])
        self.assertIn(f"--task auto/{count};", command)
        self.assertIn("secretRef: {name: keys}", document)
        os.rename(file, os.path.join(self.at, "carried.yaml"))
        command = command.replace("/configuration/dataset.yaml", os.path.join(self.at, "carried.yaml"))
        pods = [subprocess.Popen(["sh", "-c", command], cwd="/", env=self.environment(**keys), stderr=subprocess.PIPE, text=True) for _ in range(3)]
        said = [pod.communicate(timeout=120)[1] for pod in pods]
        self.assertEqual([pod.returncode for pod in pods], [0, 0, 0], said)
        self.assertEqual(store.buckets["datasets"].pop("other").data, b"")
        for key, item in store.buckets["datasets"].items():
            write(os.path.join(self.at, "far", key), item.data)
        self.assert_same("far/videos")

    def test_every_file_of_the_state_is_told(self):
        host = os.uname().nodename
        told = {name.replace("HOST", host) for name in re.findall(r"`([a-z][\w.-]*/?)`", self.text["What is in `DIR/.bload`"])}
        self.bload("scan", "-q", "-c", "dataset.yaml", "-o", "state", "--task", "0/1", cwd=self.at)
        self.bload("plan", "-q", "-c", "dataset.yaml", "state", cwd=self.at)
        self.bload("pack", "-q", "-c", "dataset.yaml", "-o", "state", "--task", "1/3", cwd=self.at)
        pattern = "|".join(re.sub(r"\d{5,}", lambda digits: r"\d{%d}" % len(digits[0]), re.escape(name.rstrip("/"))) for name in told)
        for name in self.names("state", ".bload"):
            self.assertRegex(name, f"^(?:{pattern})$")
