"""Tables as DataFrames; what notebooks show of datasets, views and tables."""
import os
import subprocess
import sys
import xml.etree.ElementTree as tree

import numpy as np

import bload
from sample import Sample


class Notebook(Sample):
    def check_frame(self, table, frame):
        """The columns have the values of the table, and a missing value is missing in both."""
        self.assertEqual(list(frame.columns), list(table.columns))
        self.assertEqual(frame.index.tolist(), list(range(len(table))))
        for name in table.columns:
            values, column = table[name], frame[name]
            if isinstance(values, list):
                self.assertEqual((column.dtype, column.tolist()), (np.dtype(object), values), name)
                continue
            absent = [text == "" for text in table.values(name)]
            self.assertEqual(column.isna().tolist(), absent, name)
            there = ~np.array(absent)
            self.assertEqual(column[there].tolist(), values[there].tolist(), name)
            expected = "float64" if values.dtype.kind == "f" else "Int64" if any(absent) else "int64"
            self.assertEqual(str(column.dtype), expected, name)

    def test_frames(self):
        for way in "attributes", "joined", "failed", "groups":
            table = bload.open(self.packed(way)).sequences
            frame = table.to_pandas()
            self.check_frame(table, frame)
            self.assertEqual([list(row) for row in frame[["id", "status"]].to_numpy()], [[row["id"], row["status"]] for row in table])
        self.assertEqual(str(bload.open(self.packed("attributes")).sequences.to_pandas()["class"].dtype), "Int64")

    def test_frames_can_be_written_to(self):
        table = bload.open(self.packed("attributes")).sequences
        frame = table.to_pandas()
        frame.loc[0, "length"] = 77
        frame.loc[1, "class"] = 5
        self.assertNotEqual(table["length"][0], 77)
        self.check_frame(table, table.to_pandas())

    def test_frames_of_views(self):
        view = self.path("view")
        self.bload("view", "-q", self.packed("attributes"), self.packed("attributes", "--seed", 5, name="other"), "-T", 64,
                   "--oversize", "split", "-o", view)
        table = bload.open(view).sequences
        self.check_frame(table, table.to_pandas())
        self.assertEqual(len(table), 2 * self.arrays)

    def strange(self):
        """A dataset with an id that is markup, and one that is not UTF-8."""
        out = self.path("strange")
        if not os.path.exists(out):
            os.makedirs(self.path("strange-source"))
            for name in os.fsencode("a<i>&'.npy"), b"b\xff.npy":
                with open(os.path.join(os.fsencode(self.path("strange-source")), name), "wb") as file:
                    np.save(file, np.ones(5))
            self.bload("pack", "-q", "strange-source", "--kind", "array", "-T", 8, "-o", out, cwd=self.directory)
        return bload.open(out)

    def test_frames_of_strange_ids(self):
        table = self.strange().sequences
        self.check_frame(table, table.to_pandas())
        self.assertEqual(table.to_pandas()["id"].tolist(), ["a<i>&'.npy", "b\udcff.npy"])

    def test_without_pandas(self):
        code = "import sys\nsys.modules['pandas'] = None\nimport bload\ntable = bload.open(sys.argv[1]).sequences\n" \
               "try: table.to_pandas()\nexcept bload.DependencyError as error: print(error)\n"
        done = subprocess.run([sys.executable, "-c", code, self.packed("plain")], capture_output=True, text=True)
        self.assertEqual(done.stdout, "a DataFrame needs the package pandas: pip install 'bload[pandas]'\n", done.stderr)

    def shown(self, thing):
        """The HTML as a tree: well-formed, small, without scripts, links, or colours that a theme may not have."""
        html = thing._repr_html_()
        html.encode()
        self.assertLess(len(html), 20000)
        for word in "<script", "<style", "href", "src=", "color:#", "background", "class=", "id=":
            self.assertNotIn(word, html)
        return tree.fromstring(html)

    def cells(self, thing):
        """The values of its tables, by row."""
        return [[cell.text or "" for cell in row] for row in self.shown(thing).iter("tr")]

    def test_datasets(self):
        dataset = bload.open(self.packed("joined"))
        text = "".join(self.shown(dataset).itertext())
        self.assertIn(f"bload.Dataset {dataset.path}{len(dataset):,} blocks, T = {dataset.T}, S = {dataset.S}; world size 1", text)
        fields = [[name, field.kind, field.stored, str(list(field.shape)), "raw"] for name, field in dataset.fields.items()]
        self.assertEqual(self.cells(dataset), [["field", "kind", "stored", "shape of a step", "encoding"], *fields])
        self.bload("plan", "-q", "--dataset", dataset.path, "--epochs", 3)
        self.assertIn("; epochs 0 to 3", bload.open(dataset.path)._repr_html_())
        dataset.close()
        self.assertEqual("".join(self.shown(dataset).itertext()), text)

    def test_views(self):
        path = self.path("shown<i>&\"")
        self.bload("view", "-q", self.packed("plain"), self.packed("shards", "--dtype", "i32", "--seed", 2, name="more"), "-T", 64, "-o", path)
        view = bload.open(path)
        self.assertIn("bload.View " + path, "".join(self.shown(view).itertext()))
        rows = [[one.name, f"{one.rows:,}"] for one in view.sources]
        self.assertEqual([[row[0], row[2]] for row in self.cells(view)[-2:]], rows)

    def test_tables(self):
        table = bload.open(self.packed("attributes")).sequences
        cells = self.cells(table)
        self.assertEqual(cells[0], ["", *table.columns[:10]])
        self.assertEqual([row[1:4] for row in cells[1:]], [table.row(k)[:3] for k in range(8)])
        text = "".join(self.shown(table).itertext())
        self.assertIn(f"{len(table)} rows, {len(table.columns)} columns; {len(table) - 8} more rows, {len(table.columns) - 10} more columns", text)
        strange = self.strange().sequences
        self.assertEqual([row[1] for row in self.cells(strange)[1:]], ["a<i>&'.npy", "b\\udcff.npy"])
        self.assertNotIn("more", "".join(self.shown(strange).itertext()).split("columns")[0])
