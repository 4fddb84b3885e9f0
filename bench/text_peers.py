"""One measurement of another tokenizer, in a process of its own: MB of text a second, on documents that it has not seen.

    text_peers.py documents TEXT OUT [BYTES]    TEXT cut at lines into documents of 4 KB, each after its size (u32); BYTES: only so much
    text_peers.py json RANKS PATTERN OUT        a tokenizer.json of a .tiktoken file
    text_peers.py PEER TOKENIZER TEXT [BYTES]   prints MB/s, the tokens, and a checksum of the ids; BYTES: only so much text
    text_peers.py stream PEER TOKENIZER         the same of documents on stdin, each after its size (u32), without the checksum
    text_peers.py pack PEER TOKENIZER JSONL OUT WORKERS
                                                a script around PEER, as one writes it: the ids of JSONL go to files in folder OUT,
                                                each part with the lengths of its documents; by so many processes. Prints the tokens

PEER is tokenizers, tiktoken, gigatoken, fastokens, kitoken or sentencepiece. On one thread, or one thread a process.
"""
import os
import struct
import sys
import time
import zlib

os.environ["RAYON_NUM_THREADS"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"

SIZE = 4096


def documents(path, limit=None):
    with open(path, "rb") as file:
        data = file.read() if limit is None else file.read(limit)
    at, found = 0, []
    while at < len(data):
        end = data.find(b"\n", at + SIZE) + 1 or len(data)
        found.append(data[at:end].decode("utf-8", "ignore"))
        at = end
    return found


def ranks(path):
    import base64
    with open(path, "rb") as file:
        return {base64.b64decode(token): int(rank) for token, rank in (line.split() for line in file)}


def patterns():
    from tiktoken_ext import openai_public
    import unittest.mock
    found = {}
    with unittest.mock.patch.multiple(openai_public, load_tiktoken_bpe=lambda *a, **k: {},
                                      data_gym_to_mergeable_bpe_ranks=lambda *a, **k: {}):
        for name in "r50k_base", "cl100k_base", "o200k_base":
            found[name.split("_")[0]] = openai_public.ENCODING_CONSTRUCTORS[name]()["pat_str"]
    return found


def write_json(path, pattern, out):
    """A token's merges are all its splits into two tokens, the ranks being their order; as is usual where ranks are converted."""
    import json
    known = ranks(path)
    letters = [*range(0x21, 0x7f), *range(0xa1, 0xad), *range(0xae, 0x100)]
    letter = {byte: chr(byte) for byte in letters}
    letter.update({byte: chr(0x100 + i) for i, byte in enumerate(b for b in range(256) if b not in letter)})
    text = {token: "".join(letter[b] for b in token) for token in known}
    merges = []
    for token in known:
        splits = [(token[:i], token[i:]) for i in range(1, len(token)) if token[:i] in known and token[i:] in known]
        merges += [f"{text[a]} {text[b]}" for a, b in sorted(splits, key=lambda s: (known[s[0]], known[s[1]]))]
    plain = patterns()[pattern].replace("++", "+").replace("?+", "?").replace("}+", "}").replace("*+", "*")
    split = {"type": "Split", "pattern": {"Regex": plain}, "behavior": "Isolated", "invert": False}
    if pattern == "cl100k":
        split["pattern"]["Regex"] = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|"
                                     r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    model = {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": None,
             "fuse_unk": False, "byte_fallback": False, "ignore_merges": True,
             "vocab": {text[token]: rank for token, rank in known.items()}, "merges": merges}
    with open(out, "w", encoding="utf-8") as file:
        json.dump({"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None,
                   "pre_tokenizer": {"type": "Sequence", "pretokenizers": [split, byte_level]}, "post_processor": None,
                   "decoder": {**byte_level, "use_regex": True}, "model": model}, file, ensure_ascii=False)


def encoder(peer, path):
    """A function from documents to arrays of ids."""
    import numpy
    if peer == "tokenizers":
        import tokenizers
        one = tokenizers.Tokenizer.from_file(path)
        one.encode_special_tokens = True
        return lambda docs: [e.ids for e in one.encode_batch_fast(docs, add_special_tokens=False)]
    if peer == "tiktoken":
        import tiktoken
        pattern = os.path.basename(path).split("_")[0].replace("gpt2.tiktoken", "r50k")
        one = tiktoken.Encoding("local", pat_str=patterns()[pattern], mergeable_ranks=ranks(path), special_tokens={})
        return lambda docs: [one.encode_ordinary(doc) for doc in docs]
    if peer == "gigatoken":
        import gigatoken
        name = os.path.basename(path)
        one = gigatoken.Tokenizer(path) if path.endswith(".json") else gigatoken.Tokenizer.from_tiktoken(
            path, pretokenizer={"gpt2.tiktoken": "r50k"}.get(name, name.split("_")[0]))
        return lambda docs: one.encode_batch(docs, parallel=False)
    if peer == "kitoken":
        import kitoken
        one = kitoken.Kitoken.from_file(path)
        return lambda docs: [one.encode(doc, False) for doc in docs]
    if peer == "sentencepiece":
        import sentencepiece
        one = sentencepiece.SentencePieceProcessor(model_file=path)
        return lambda docs: one.encode(docs, num_threads=1)
    one = flat_encoder(path)
    return lambda docs: one(docs)[0]


def flat_encoder(path):
    """A function from documents to all their ids by fastokens, and where those of each document begin and end."""
    import fastokens
    import numpy
    one = fastokens.Tokenizer.from_file(path)

    def encode(docs):
        ids, offsets = one.encode_batch_flat(docs, split_special_tokens=True)
        return numpy.frombuffer(ids, numpy.uint32), numpy.frombuffer(offsets, numpy.uint64)
    return encode


def parts(path, size):
    """Ranges of a file that end with lines, of about so many bytes."""
    found, whole = [0], os.path.getsize(path)
    with open(path, "rb") as file:
        while found[-1] < whole:
            file.seek(min(found[-1] + size, whole))
            file.readline()
            found.append(file.tell())
    return list(zip(found, found[1:]))


def pack_begin(peer, path, jsonl, out):
    global pack_state
    pack_state = flat_encoder(path) if peer == "fastokens" else encoder(peer, path), peer, jsonl, out


def pack_part(part):
    """Tokenizes a part of the input, and writes a file of ids and one of lengths."""
    import json
    import numpy
    encode, peer, jsonl, out = pack_state
    begin, end = part
    with open(jsonl, "rb") as file:
        file.seek(begin)
        docs = [json.loads(line)["text"] for line in file.read(end - begin).splitlines()]
    if peer == "gigatoken":
        import awkward
        ids = encode(docs)
        lengths = awkward.to_numpy(awkward.num(ids))
        ids = awkward.to_numpy(awkward.flatten(ids))
    else:
        ids, offsets = encode(docs)
        lengths = numpy.diff(offsets)
    numpy.ascontiguousarray(ids, "<i4").tofile(f"{out}/{begin:014d}.ids")
    numpy.ascontiguousarray(lengths, "<i8").tofile(f"{out}/{begin:014d}.lengths")
    return len(ids)


def pack(peer, path, jsonl, out, workers):
    import multiprocessing
    os.makedirs(out)
    with multiprocessing.Pool(int(workers), pack_begin, (peer, path, jsonl, out)) as pool:
        print(sum(pool.imap_unordered(pack_part, parts(jsonl, 4_000_000))))


def flat(peer, ids):
    """The ids of all documents in one array."""
    import numpy
    if peer == "gigatoken":
        import awkward
        return awkward.to_numpy(awkward.flatten(ids))
    return ids if isinstance(ids, numpy.ndarray) else numpy.concatenate([numpy.array(i, numpy.uint32) for i in ids])


def stream(peer, path):
    """In batches of 32 MB, which the caches of peers outlive."""
    encode = encoder(peer, path)
    seconds, size, tokens, more = 0, 0, 0, True
    while more:
        docs, batch = [], 0
        while batch < 32_000_000 and (more := sys.stdin.buffer.read(4)):
            doc = sys.stdin.buffer.read(struct.unpack("<I", more)[0])
            batch += len(doc)
            docs.append(doc.decode())
        begin = time.process_time()
        ids = encode(docs) if docs else []
        seconds += time.process_time() - begin
        tokens += len(flat(peer, ids)) if docs else 0
        size += batch
    print(f"{size / seconds / 1e6:.1f} {tokens}")


def main(arguments):
    if arguments[0] == "pack":
        return pack(*arguments[1:])
    if arguments[0] == "stream":
        return stream(*arguments[1:])
    if arguments[0] == "documents":
        with open(arguments[2], "wb") as out:
            for doc in documents(arguments[1], int(arguments[3]) if len(arguments) > 3 else None):
                out.write(struct.pack("<I", len(doc.encode())) + doc.encode())
        return
    if arguments[0] == "json":
        return write_json(*arguments[1:])
    peer, path, text = arguments[:3]
    docs = documents(text, int(arguments[3]) if len(arguments) > 3 else None)
    size = sum(len(doc.encode()) for doc in docs)
    encode = encoder(peer, path)
    begin = time.process_time()
    ids = encode(docs)
    seconds = time.process_time() - begin
    ids = flat(peer, ids)
    print(f"{size / seconds / 1e6:.1f} {len(ids)} {zlib.crc32(ids.astype('<u4').tobytes()):08x}")


if __name__ == "__main__":
    main(sys.argv[1:])
