"""Makes a transport stream in which a packet of the video (PES) begins with the end of the frame before: misalign.py IN OUT NUMBER.

The stream must have one video, with PES packets of no declared length, as ffmpeg writes it."""

import sys

PACKET, MOVED = 188, 7


def payload_at(packet):
    """Where the payload of a packet begins (ISO 13818-1 2.4.3.2)."""
    return 4 + (1 + packet[4] if packet[3] & 0x20 else 0)


def packets_of(first, content):
    """The packets of a PES; first: its first packet, of which the head and the clock are kept. Continuity counters are set later."""
    packets = []
    while content:
        head = bytearray(first[: payload_at(first)] if not packets else first[:3] + b"\x10")
        if not packets and head[3] & 0x20:  # without the stuffing, which is put in again where it is needed
            head = head[: 5 + (7 if head[5] & 0x10 else 1)]
            head[4] = len(head) - 5
        head[1] = head[1] | 0x40 if not packets else head[1] & ~0x40
        room = PACKET - len(head) - len(content)
        if room > 0:
            if not head[3] & 0x20:
                head[3] |= 0x20
                head += b"\0" if room == 1 else b"\1\0"
                room = PACKET - len(head) - len(content)
            head += b"\xff" * room
            head[4] = len(head) - 5
        size = PACKET - len(head)
        packets.append(head + content[:size])
        content = content[size:]
    return packets


def main():
    data, number = open(sys.argv[1], "rb").read(), int(sys.argv[3])
    packets = [bytearray(data[at : at + PACKET]) for at in range(0, len(data), PACKET)]
    pid = lambda p: (p[1] & 0x1F) << 8 | p[2]
    video = next(pid(p) for p in packets if p[1] & 0x40 and p[payload_at(p) :][:4] == b"\0\0\1\xe0")
    starts = [i for i, p in enumerate(packets) if pid(p) == video and p[1] & 0x40] + [len(packets)]
    pieces = []
    for begin, end in ((starts[number - 1], starts[number]), (starts[number], starts[number + 1])):
        mine = [p for p in packets[begin:end] if pid(p) == video]
        pieces.append((mine[0], b"".join(bytes(p[payload_at(p) :]) for p in mine), [p for p in packets[begin:end] if pid(p) != video]))
    (before, ending, others), (first, frame, further) = pieces
    head = 9 + frame[8]
    frame = frame[:head] + ending[-MOVED:] + frame[head:]
    made = packets_of(before, ending[:-MOVED]) + others + packets_of(first, frame) + further
    packets[starts[number - 1] : starts[number + 1]] = made
    counter = 0
    for packet in packets:
        if pid(packet) == video:
            packet[3] = packet[3] & 0xF0 | counter & 15
            counter += 1
    open(sys.argv[2], "wb").write(b"".join(packets))


main()
