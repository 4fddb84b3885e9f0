"""The shared folder of real files, with what is known of each from MANIFEST.tsv. Not every machine has it."""
import os

import tool


class Known:
    """A file of the folder that has a video stream, cover art included."""

    def __init__(self, row):
        self.name = row["file"]
        self.path = os.path.join(tool.MEDIA, self.name)
        self.codec = row["vcodec"]
        self.frames = int(row["ffprobe_count_frames"])
        self.pixels = int(row["w"]) * int(row["h"])
        notes = row["notes"]
        self.damaged = "decode_errors" in notes or "corrupt_frames" in notes or "truncated" in row["source"]
        self.hdr = "arib-std-b67" in notes or "smpte2084" in notes
        self.cover = "attached_pic" in notes
        self.good = not self.damaged and not self.cover
        # Two recordings in one file.
        self.changes = "format change" in notes


def manifest():
    """Every row of the manifest, or none where there is no such folder."""
    path = os.path.join(tool.MEDIA, "MANIFEST.tsv")
    if not os.path.exists(path):
        return []
    lines = tool.text(path).splitlines()
    columns = lines[0].split("\t")
    rows = [line.split("\t") for line in lines[1:]]
    return [dict(zip(columns, row + [""] * (len(columns) - len(row)), strict=True)) for row in rows]


VIDEOS = [Known(row) for row in manifest() if row["vcodec"]]
# Names with the extension of a video that hold none that can be used: what their reasons must say.
USELESS = {
    "derived_empty.mp4": "empty file", "derived_trunc60_moov_at_end.mp4": "truncated",
    "derived_zero_frames.mp4": "no video stream", "exo_sample_latm.ts": "audio only",
    "exo_sample_opus_fragmented.mp4": "audio only", "moz_afconvert-aac-0.5s.mp4": "audio only",
    "moz_bipbop_audioinit.mp4": "audio only", "webm_discard_padding.webm": "audio only",
}
ABSENT = "no shared/data/media"
