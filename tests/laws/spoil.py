"""Zeros a packet of a video but for its first bytes: spoil.py FILE NUMBER BYTES-LEFT OUT. NUMBER counts packets from 0."""

import json
import subprocess
import sys

source, number, left, out = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
query = ["ffprobe", "-v", "error", "-select_streams", "v", "-show_entries", "packet=pos,size", "-of", "json", source]
packets = json.loads(subprocess.run(query, stdout=subprocess.PIPE, check=True).stdout)["packets"]
position, size = int(packets[number]["pos"]), int(packets[number]["size"])
with open(source, "rb") as file:
    data = bytearray(file.read())
data[position + left : position + size] = bytes(size - left)
with open(out, "wb") as file:
    file.write(data)
