"""What the test doubles of the driver give for a clip, worked out from its packets: an md5 for each frame, in the order of their times.

    fake_expected.py CLIP CODEC WIDTH HEIGHT DEPTH [raw]

CODEC is h264, hevc (in mp4), vp8 or vp9 (in webm, a frame for each packet). The pictures are those of fake_picture.c, as
`ffmpeg -vf hwdownload -f framemd5` shows them: NV12, or with more than 8 bits P010 or P016. raw: the frames instead, of 8 bits, planar.
"""

import hashlib
import struct
import subprocess
import sys


def ivf_packets(path):
    """(time, bytes) of each packet, by way of a container that has nothing else."""
    data = subprocess.run(["ffmpeg", "-v", "error", "-nostdin", "-i", path, "-c", "copy", "-f", "ivf", "-"], check=True, capture_output=True).stdout
    at, number = 32, 0
    while at < len(data):
        size = struct.unpack_from("<I", data, at)[0]
        yield number, data[at + 12 : at + 12 + size]
        at += 12 + size
        number += 1


def mp4_packets(path):
    words = "packet=pts,size,pos"
    text = subprocess.run(["ffprobe", "-v", "error", "-select_streams", "v:0", "-show_entries", words, "-of", "csv=p=0", path], check=True, capture_output=True, text=True).stdout
    whole = open(path, "rb").read()
    for line in text.split():
        time, size, position = map(int, line.split(",")[:3])
        yield time, whole[position : position + size]


def slices(packet, codec):
    """The units of an mp4's packet that hold slices, behind start codes, as the hardware is given them."""
    out, at = b"", 0
    while at < len(packet):
        size = struct.unpack_from(">I", packet, at)[0]
        unit = packet[at + 4 : at + 4 + size]
        if unit[0] & 31 in (1, 5) if codec == "h264" else unit[0] >> 1 & 63 < 32:
            out += b"\0\0\1" + unit
        at += 4 + size
    return out


def hash_of(data):
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 & (1 << 64) - 1
    return value


def level(value, plane, x, y):
    seed = value >> plane * 20 & 0xFFFFF
    at = (x * (8 + seed % 32) + y * (8 + seed // 32 % 32) + seed // 1024 * 8) % 8192
    return at if at < 4096 else 8191 - at


def picture(value, width, height):
    """The samples of luma, of U, and of V."""
    across, down = (width + 1) // 2, (height + 1) // 2
    luma = [level(value, 0, x, y) for y in range(height) for x in range(width)]
    u, v = ([level(value, plane, x, y) for y in range(down) for x in range(across)] for plane in (1, 2))
    return luma, u, v


def planar(value, width, height):
    return bytes(sample >> 4 for plane in picture(value, width, height) for sample in plane)


def surface(value, width, height, depth):
    luma, u, v = picture(value, width, height)
    samples = luma + [sample for pair in zip(u, v) for sample in pair]
    if depth == 8:
        return bytes(sample >> 4 for sample in samples)
    mask = 0xFFFF << 16 - depth & 0xFFFF
    return b"".join(struct.pack("<H", sample << 4 & mask) for sample in samples)


def main(path, codec, width, height, depth, raw=None):
    packets = sorted(ivf_packets(path) if codec.startswith("vp") else mp4_packets(path))
    for _, packet in packets:
        value = hash_of(packet if codec.startswith("vp") else slices(packet, codec))
        if raw:
            sys.stdout.buffer.write(planar(value, int(width), int(height)))
        else:
            print(hashlib.md5(surface(value, int(width), int(height), int(depth))).hexdigest())


main(*sys.argv[1:])
