"""Ways to say the same: flags, a YAML file, what --print-config gave, a table and a plan made beforehand. The same bytes come of
all of them; of what a dataset says of itself only the way that it was asked for may differ."""
import json
import os

import clips
import tool
from dataset import read_table

NAMES = ["h264.mp4", "vp9.webm", "mpeg4.avi", "vfr.mkv", "gif.gif"]
FLAGS = {
    "plain": ("-T", "64", "--size", "24x16"),
    "much": ("-T", "13", "--oversize", "split", "--size", "20x20", "--fit", "crop", "--fps", "12.5", "--seed", "9", "--pad",
             "repeat", "--segment-ids", "--compress", "zstd:2", "--shard-size", "40K", "--count", "decode", "--simd", "sse2"),
    "mix": ("-T", "longest", "--strategy", "mix", "--clip", "6", "--size", "24x16", "--stride", "2", "--fit", "pad"),
    "paper": ("-T", "50", "--fill", "paper", "--seed", "18446744073709551615", "--size", "24x16"),
}
YAML = {
    "plain": "T: 64\nsize: 24x16\n",
    "much": "T: 13\noversize: split\nsize: 20x20\nfit: crop\nfps: 12.5\nseed: 9\npad: repeat\nsegment-ids: true\n"
            "compress: zstd:2\nshard-size: 40K\ncount: decode\nsimd: sse2\n",
    "mix": "T: longest\nstrategy: mix\nclip: 6\nsize: '24x16'\nstride: 2\nfit: pad\n",
    "paper": "T: 50\nfill: paper\nseed: 18446744073709551615\nsize: \"24x16\"\n",
}


class Config(tool.Tool):
    """Each way packs the same folder, called videos from where it is asked for."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        self = cls()
        os.mkdir(self.path("videos"))
        os.mkdir(self.path("elsewhere"))
        for name in NAMES:
            os.symlink(os.path.abspath(clips.clip(name)), self.path("videos", name))

    def by_flags(self, which):
        return self.pack(which, "videos", *FLAGS[which], cwd=self.directory)

    def write(self, name, text):
        tool.write(self.path(name), text)
        return self.path(name)

    def test_yaml(self):
        """From another directory: relative paths count from the file."""
        for which, text in YAML.items():
            with self.subTest(which):
                expected = self.by_flags(which)
                config = self.write("config.yaml", f"sources:\n  - path: videos\n{text}")
                out = self.pack("yaml", "-c", config, cwd=self.path("elsewhere"))
                self.assertSameTree(out, expected)

    def test_yaml_with_output(self):
        """The whole command in the file, given as the only operand; sources as plain words, of a named kind."""
        expected = self.by_flags("plain")
        config = self.write("whole.yaml", YAML["plain"] + "output: there\njobs: 1\nquiet: yes\nsources:\n"
                            "  - path: videos/\n    kind: video\n")
        self.bload("pack", config, cwd=self.path("elsewhere"))
        self.assertSameTree(self.path("there"), expected, ["manifest.json"])
        self.assertSameConfigurationBut(self.path("there"), expected, "source 1")

    def test_flags_win(self):
        expected = self.by_flags("plain")
        config = self.write("other.yaml", "sources:\n  - path: videos\nT: 99\nseed: 4\nsize: 24x16\nfill: paper\n")
        out = self.pack("flags", "-c", config, "-T", "64", "--seed", "0", "--fill", "optimal", cwd=self.path("elsewhere"))
        self.assertSameTree(out, expected)

    def test_print_config(self):
        """What it prints, fed back, makes the same dataset; and prints the same again."""
        for which, flags in FLAGS.items():
            with self.subTest(which):
                expected = self.by_flags(which)
                text, _ = self.bload("pack", "videos", *flags, "--print-config", cwd=self.directory)
                config = self.write("printed.yaml", text)
                self.assertSameTree(self.pack("printed", "-c", config, cwd=self.path("elsewhere")), expected)
                self.assertEqual(self.bload("pack", "-c", config, "--print-config", cwd=self.directory)[0], text)
                self.assertEqual(self.bload("pack", "-c", config, "--print-config", cwd=self.path("elsewhere"))[0], text)

    def configuration(self, directory):
        manifest = json.loads(tool.read(os.path.join(directory, "manifest.json")))
        del manifest["checksum"]
        return manifest.pop("configuration"), manifest

    def assertSameConfigurationBut(self, one, other, *names):
        """The same manifest, but for these of its configuration."""
        ours, manifest = self.configuration(one)
        theirs, expected = self.configuration(other)
        self.assertEqual(manifest, expected)
        for name in names:
            ours.pop(name, None)
            theirs.pop(name, None)
        self.assertEqual(ours, theirs)

    def test_table_and_plan(self):
        """scan, plan and pack one after the other do what pack does at once."""
        sampling = {"--fps", "--fps-origin", "--stride", "--count", "--hdr", "--kind"}
        planning = {"-T", "--oversize", "--strategy", "--clip", "--fill", "--seed"}

        def those(flags, names):
            pairs = [flags[i:i + 2] for i, flag in enumerate(flags) if flag in names]
            return [word for pair in pairs for word in pair]

        for which, flags in FLAGS.items():
            with self.subTest(which):
                expected = self.by_flags(which)
                table, _ = self.bload("scan", "videos", *those(flags, sampling), cwd=self.directory)
                table = self.write("table.tsv", table)
                for plan in "plan.tsv", "plan.safetensors":  # the binary one tells its seed and fill, too
                    self.bload("plan", "-q", "table.tsv", *those(flags, planning), "-o", plan, cwd=self.directory)
                with_table = self.pack("table", "--sequences", table, *flags, cwd=self.directory)
                self.assertSameTree(with_table, expected, ["manifest.json"])
                self.assertSameConfigurationBut(with_table, expected, "source 1", "sequences")
                for plan in "plan.tsv", "plan.safetensors":
                    with_plan = self.pack("plan", "--sequences", "table.tsv", "--plan", plan, *flags, cwd=self.directory)
                    self.assertSameTree(with_plan, expected, ["manifest.json"])
                self.assertSameConfigurationBut(with_plan, expected, "source 1", "sequences", "plan")
                self.assertEqual(len(read_table(self.path("plan.tsv"))), self.pieces(expected))

    def pieces(self, directory):
        from dataset import Dataset
        return len(Dataset(directory).index["sequence"])
