"""Text that is no UTF-8 becomes what Python's errors="replace" makes of it."""
import random
import unittest

import text

# Bytes at which something is decided.
EDGES = bytes([0x00, 0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xEC, 0xED, 0xEE, 0xEF, 0xF0,
               0xF1, 0xF3, 0xF4, 0xF5, 0xFF])


class Utf8(unittest.TestCase):
    def check(self, records):
        for record, got in zip(records, text.probe("utf8", records=records)):
            replaced, _, valid = got.partition(b" ")
            expected = record.decode(errors="replace")
            self.assertEqual(valid, expected.encode(), record)
            self.assertEqual(int(replaced), expected.count("\ufffd") - record.count(b"\xef\xbf\xbd"), record)

    def test_random(self):
        draw = random.Random(1)
        self.check([bytes(draw.choices(EDGES, k=draw.randint(0, 80))) for _ in range(20000)])

    def test_short(self):
        self.check([bytes([a, b, c, d]) for a in EDGES for b in EDGES for c in EDGES[::3] for d in EDGES[::4]])
