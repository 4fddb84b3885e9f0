"""Decode the pictures and sounds of a chat as Transformers does; videos are decoded by the processor."""
from __future__ import annotations

import base64
import io
import os
import tempfile
import warnings
from typing import Any, Dict, List, Sequence

from .media import Medium
from .messages import Unusable


class Opened:
    """The media of a chat, decoded as the processor takes them. Files that were made for it are removed at the end."""

    def __init__(self, media: Sequence[Medium], processor: Any, counts: Dict[str, int]):
        self.media, self.processor, self.counts = media, processor, counts
        self.files: List[str] = []
        self.values: List[Any] = []

    def __enter__(self) -> "Opened":
        try:
            for one in self.media:
                self.values.append({"image": self.image, "video": self.video, "audio": self.audio}[one.kind](one))
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def close(self) -> None:
        """Remove files that were made."""
        for path in self.files:
            os.unlink(path)

    def of(self, kind: str) -> List[Any]:
        """Return the media of a kind."""
        return [value for one, value in zip(self.media, self.values) if one.kind == kind]

    def image(self, one: Medium) -> Any:
        """Return a picture as Transformers loads it: rotated as it says, in RGB. Counts what is lost on the way."""
        from PIL import Image

        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", Image.DecompressionBombWarning)
                with Image.open(io.BytesIO(one.source) if isinstance(one.source, bytes) else one.source) as picture:
                    if getattr(picture, "n_frames", 1) > 1:
                        self.counts["pictures with several frames, of which the first is taken"] += 1
                    if "A" in picture.getbands() or "transparency" in picture.info:
                        self.counts["pictures with transparency, which is left out"] += 1
                    if picture.mode.startswith(("I", "F")):
                        raise Unusable("a picture of more than 8 bits", f"{one.where}: {one.name()} has more than 8 bits a value ({picture.mode}), "
                                       "which Transformers would cut off at 255: convert it first")
                    return self.loaded(picture)
        except Unusable:
            raise
        except Image.DecompressionBombWarning as error:
            raise Unusable("a picture that is too large", f"{one.where}: {one.name()}: {first_line(error)}") from None
        except MemoryError:
            raise
        except Exception as error:
            raise Unusable("a picture that cannot be decoded", f"{one.where}: {one.name()}: {first_line(error)}") from None

    def loaded(self, picture: Any) -> Any:
        """Return a picture that is open as Transformers loads it."""
        from transformers.image_utils import load_image

        return load_image(picture)

    def video(self, one: Medium) -> str:
        """Return the path of a video, which the processor decodes."""
        if isinstance(one.source, str):
            return one.source
        handle, path = tempfile.mkstemp(prefix="bload-", suffix=".video")
        self.files.append(path)
        with os.fdopen(handle, "wb") as file:
            file.write(one.source)
        return path

    def audio(self, one: Medium) -> Any:
        """Return a sound at the processor's rate; raise Unusable if the processor would cut it."""
        from transformers.audio_utils import load_audio

        extractor = getattr(self.processor, "feature_extractor", None)
        if extractor is None:
            raise Unusable("the processor takes no audio", f"{one.where}: {type(self.processor).__name__} takes no audio")
        source = one.source if isinstance(one.source, str) else "data:audio/any;base64," + base64.b64encode(one.source).decode()
        try:
            samples = load_audio(source, sampling_rate=extractor.sampling_rate)
        except MemoryError:
            raise
        except Exception as error:
            raise Unusable("a sound that cannot be decoded", f"{one.where}: {one.name()}: {first_line(error)}") from None
        longest = getattr(extractor, "n_samples", None)
        if longest is not None and len(samples) > longest:
            raise Unusable("a sound that is too long", f"{one.where}: {one.name()} has {len(samples) / extractor.sampling_rate:.1f} s, and the "
                           f"processor takes {longest / extractor.sampling_rate:.0f} s: divide it")
        return samples


def first_line(error: BaseException) -> str:
    """Return the first line of an exception's message."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
