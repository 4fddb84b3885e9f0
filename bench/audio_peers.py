"""One measurement of another way to read sound as 16 kHz mono floats, and to make features of it, in a process of its own:

    audio_peers.py READER[+FEATURES] SOURCE    prints seconds of sound, and of the processor for reading and for features

READER is soundfile (with soxr), torchcodec, pyav or lhotse; FEATURES numpy or torch (Whisper's log-mel, 80 filters) or fbank (lhotse's,
80 filters). SOURCE is a file, or a folder with wav files. On one thread; imports are not counted. What cannot be read is left out. Of two passes the better one tells.
"""
import os
import sys
import time

for variable in "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS":
    os.environ[variable] = "1"

import numpy as np

RATE = 16000


def soundfile():
    import soundfile
    import soxr

    def read(path):
        samples, rate = soundfile.read(path, dtype="float32", always_2d=True)
        samples = samples[:, 0] if samples.shape[1] == 1 else samples.mean(1)
        return samples if rate == RATE else soxr.resample(samples, rate, RATE)
    return read


def torchcodec():
    from torchcodec.decoders import AudioDecoder
    return lambda path: AudioDecoder(path, sample_rate=RATE, num_channels=1).get_all_samples().data[0].numpy()


def pyav():
    import av

    def read(path):
        with av.open(path) as file:
            file.streams.audio[0].thread_count = 1
            resampler = av.AudioResampler("flt", "mono", RATE)
            frames = [out for frame in file.decode(audio=0) for out in resampler.resample(frame)]
            return np.concatenate([out.to_ndarray()[0] for out in frames + resampler.resample(None)])
    return read


def lhotse():
    import lhotse

    def read(path):
        recording = lhotse.Recording.from_file(path)
        recording = recording if recording.sampling_rate == RATE else recording.resample(RATE)
        return recording.load_audio().mean(0)
    return read


def filters(mels):
    """Slaney's, as bins x mels."""
    top = 15 + np.log(RATE / 2 / 1000) * 27 / np.log(6.4)
    mel = np.linspace(0, top, mels + 2)
    edge = np.where(mel < 15, mel * 200 / 3, 1000 * np.exp((mel - 15) * np.log(6.4) / 27))[:, None]
    at = np.arange(201) * RATE / 400
    up, down = (at - edge[:-2]) / np.diff(edge, axis=0)[:-1], (edge[2:] - at) / np.diff(edge, axis=0)[1:]
    return (np.maximum(0, np.minimum(up, down)) * 2 / (edge[2:] - edge[:-2])).T.astype(np.float32)


def whisper_numpy():
    window = (0.5 - 0.5 * np.cos(2 * np.pi * np.arange(400) / 400)).astype(np.float32)
    weights = filters(80)

    def features(samples):
        frames = np.lib.stride_tricks.sliding_window_view(np.pad(samples, 200, "reflect"), 400)[::160]
        power = np.abs(np.fft.rfft(frames[:len(samples) // 160] * window)) ** 2
        logs = np.log10(np.maximum(power.astype(np.float32, copy=False) @ weights, 1e-10))
        return (np.maximum(logs, logs.max() - 8) + 4) / 4
    return features


def whisper_torch():
    import torch
    window, weights = torch.hann_window(400), torch.from_numpy(np.ascontiguousarray(filters(80).T))

    def features(samples):
        bins = torch.stft(torch.from_numpy(samples), 400, 160, window=window, return_complex=True)
        logs = torch.clamp(weights @ bins[..., :-1].abs() ** 2, min=1e-10).log10()
        return (torch.maximum(logs, logs.max() - 8) + 4) / 4
    return features


def fbank():
    import lhotse
    extractor = lhotse.Fbank()
    return lambda samples: extractor.extract(samples, RATE)


READERS = {"soundfile": soundfile, "torchcodec": torchcodec, "pyav": pyav, "lhotse": lhotse}
FEATURES = {"numpy": whisper_numpy, "torch": whisper_torch, "fbank": fbank}


def once(read, make, paths):
    sound = reading = making = 0
    for path in paths:
        began = time.process_time()
        try:
            samples = read(path)
        except Exception:  # each has its own
            continue
        sound += len(samples) / RATE
        reading += time.process_time() - began
        began = time.process_time()
        if make and len(samples) > 400:
            make(samples)
        making += time.process_time() - began
    return sound, reading, making


def main():
    reader, _, features = sys.argv[1].partition("+")
    read, make = READERS[reader](), FEATURES[features]() if features else None
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)
    source = sys.argv[2]
    paths = [os.path.join(folder, name) for folder, _, names in os.walk(source) for name in names if name.endswith(".wav")] or [source]
    sound, reading, making = zip(once(read, make, paths), once(read, make, paths))
    print(f"{sound[0]:.3f} {min(reading):.6f} {min(making):.6f}")


main()
