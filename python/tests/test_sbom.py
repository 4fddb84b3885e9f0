"""The bill of materials of the wheel has all that sources.txt has, in the form of SPDX 2.3."""
import json
import os
import sys
import unittest

import tool

FOLDER = os.path.join(tool.ROOT, "packaging", "wheel")


class Sbom(unittest.TestCase):
    def setUp(self):
        super().setUp()
        sys.path.insert(0, FOLDER)
        self.addCleanup(sys.path.remove, FOLDER)
        import assemble
        import sbom
        self.rows, self.make = assemble.sources(), sbom.document

    def test_all_sources_are_in_it(self):
        document = json.loads(self.make("1.2.3", self.rows, 1700000000))
        self.assertEqual(document["spdxVersion"], "SPDX-2.3")
        self.assertEqual(document["creationInfo"]["created"], "2023-11-14T22:13:20Z")
        found = {p["name"]: p for p in document["packages"]}
        self.assertEqual(sorted(found), sorted(["bload", *(row[0] for row in self.rows)]))
        for name, version, checksum, licence, linked, _ in self.rows:
            self.assertEqual(found[name]["versionInfo"], version)
            self.assertEqual(found[name]["licenseDeclared"].split(" AND "), licence.split(","))
            self.assertIn(checksum, found[name]["comment"])
        linked = {(r["relationshipType"], r["relatedSpdxElement"]) for r in document["relationships"] if r["spdxElementId"] == "SPDXRef-bload"}
        self.assertIn(("DYNAMIC_LINK", "SPDXRef-ffmpeg"), linked)
        self.assertEqual(len(linked), len(self.rows))

    def test_the_same_bytes(self):
        self.assertEqual(self.make("1.2.3", self.rows, 7), self.make("1.2.3", self.rows, 7))
        self.assertNotEqual(self.make("1.2.3", self.rows, 7), self.make("1.2.4", self.rows, 7))
