"""What the comparison of two builds runs: {name: commands}, about 200 of them. A command is a line of bash in the folder of the inputs; $O is an
empty folder of its own, "bload" the build, and what it writes below $O is compared. "pack" stands for a pack of $O/d."""

TEXT = "text/corpus.jsonl --tokenizer bytes"
IDS = "text/ids.jsonl --key input_ids"
BPE = "text/corpus.jsonl --tokenizer text/tokenizers/tokenizer.json"
VIDEO = "clips --size 64x48"
AUDIO = "sounds --kind audio --shard-size 200K"
POSES = "arrays/poses --kind array"
GOPS = "gops --size 32x24"

# What each kind of source is packed with: (source, T, [options...]).
SOURCES = {
    "text": (TEXT, 512, ["", "--bos 257 --eos 256 --pad-id 258", "--dtype u16", "--key title,text --join '\\n--\\n'", "--key title",
                         "--keep url,score,lang=meta.lang", "--invalid error", "--max-document 300", "--key meta.lang --min-length 1"]),
    "plain": ("text/plain --tokenizer bytes", 600, ["--oversize split", "--documents line", "--documents blank-line --kind text", "--documents 'sep:the ' --oversize truncate"]),
    "bpe": (BPE, 600, ["", "--special parse", "--add-special-tokens", "--bos '<s>' --eos '</s>'"]),
    "gpt2": ("text/corpus.jsonl --tokenizer text/tokenizers/gpt2", 600, ["", "--special parse"]),
    "bert": ("text/corpus.jsonl --tokenizer text/tokenizers/bert/vocab.txt", 512, ["", "--lowercase yes"]),
    "ids": (IDS, 128, ["", "--field labels=labels", "--field labels=labels --keep source", "--eos 255", "--dtype u16 --segment-ids"]),
    "csv": ("text/corpus.csv --tokenizer bytes", 600, ["", "--keep score:number,url", "--key title,text", "--dedup-by text:lower,space"]),
    "elements": ("text/corpus.json --tokenizer bytes", 600, ["", "--keep lang=meta.lang --dedup-by text"]),
    "fim": ("text/corpus.jsonl --tokenizer bytes", 600, ["--fim 0.5,prefix=253,middle=254,suffix=255",
                                                         "--fim 1,spm=0.2,seed=3,prefix=253,middle=254,suffix=255 --bos 257 --eos 256"]),
    "flat": ("text/flat.bin", 128, ["--token-file dtype=u16,eos=255 --oversize split", "--token-file dtype=u16,bos=255 --eos 255 --oversize split"]),
    "trained": (IDS, 128, ["--field labels=labels --min-trained 20", "--field labels=labels --min-trained 1 --oversize truncate -T 30"]),
    "npy": ("text/npy --kind text", 64, ["", "--bos 1"]),
    "megatron": ("text/megatron/m.idx --kind text", 128, ["", "--megatron document"]),
    "video": (VIDEO, 60, ["", "--fit pad", "--fit crop --filter lanczos", "--filter nearest", "--pixels gray", "--fps 10", "--fps 10 --fps-origin zero",
                          "--stride 3", "--count decode", "--times", "--hdr clip", "--hdr tonemap", "--ignore-sar", "--simd none", "--isolate off"]),
    "gops": (GOPS, 130, ["", "--pad repeat", "--filter bicubic --times"]),
    "times": ("times.csv --kind video --size 32x24", 30, ["", "--fps 5", "--group-by label", "--columns word=label"]),
    "numbers": ("numbers.csv --kind video --size 32x24", 30, ["", "--oversize truncate"]),
    "frames": ("images --kind frames --size 24x18", 16, ["", "--images '*3.*'", "--pixels gray", "--jpeg-scale auto"]),
    "depth": ("depth --kind frames --pixels gray16", 8, ["", "--filter nearest --size 20x20"]),
    "audio": (AUDIO, 20000, ["--oversize split", "--oversize split --dtype f32", "--oversize split --channels 2", "--oversize split --channel 0",
                             "--oversize split --rate 8000 --resampler swr", "--oversize truncate --audio-gap off", "--oversize split --audio-gap 0.01"]),
    "mel": (AUDIO, 120, ["--features whisper80 --oversize split", "--features whisper128 --oversize split", "--features fbank40 --oversize split",
                         "--features fbank80 --snip-edges --mel-high 0 --oversize truncate"]),
    "nemo": ("nemo.json --kind audio", 8000, ["", "--features fbank40 -T 80"]),
    "array": (POSES, 80, ["", "--name pose --squeeze", "--dtype f32", "--attributes arrays/attributes.csv",
                          "--attributes arrays/attributes.csv --attributes-columns weight --group-by weight"]),
    "spoilt": ("arrays/spoilt --kind array", 80, ["", "--segment-ids --compress zstd"]),
    "tar": ("samples.tar --kind array", 80, ["--member x.npy", "--member y.npy --attributes-members json"]),
    "fields": ("-c arrays/fields.yaml", 80, ["", "--pad repeat --align 4", "--oversize split -T 20", "--attributes arrays/attributes.csv"]),
    "sound": ("-c sound.yaml --size 32x24", 40, [""]),
}

# How any of them is planned and stored.
FORMS = ["--compress zstd", "--compress zstd:9 --frame-size 4K", "--segment-ids --pad repeat", "--shard-size 8K", "--store -T auto",
         "--strategy naive -T longest", "--strategy sample --clip 8 --clips all", "--strategy mix --clip 8", "--fill paper --seed 3",
         "--world-size 2 --batch-size 3", "--world-size 4 --remainder pad", "--world-size 4 --batch-size 2 --remainder drop", "--align 8 --max-sequences 3",
         "--order keep", "--oversize split -T 16", "--oversize drop -T 16", "--dedup", "--split train=80%,val=20% --take val", "--share 40%", "--first 5",
         "--where 'length >= 8'", "--min-length 5 --max-length 30", "--cost 1,0.1 --world-size 2 --accumulate 2", "--max-column length=500", "--oversize split -T 16 --overlap 5",
         "--sequence-slots 80"]
PLANS = ["", "--oversize split", "--fill paper", "--strategy naive", "--strategy sample --clip 64", "--strategy mix --clip 64", "--strategy store",
         "--world-size 8 --batch-size 2", "--world-size 8 --cost 0,1", "--world-size 8 --cost 1,0.01 --accumulate 4 --sync step",
         "--world-size 3 --remainder drop", "--world-size 8 --balance quadratic", "--align 16", "--max-sequences 4", "--order keep --seed 9", "--spare 5%",
         "--effort 1 --seed 2", "--min-length 20 --max-length 400"]
VIEWS = ["-T 64 --oversize split", "-T 700", "-T 512 --epochs 3 --seed 5", "-T 512 --world-size 2 --batch-size 2 --epochs 2", "-T 512 --where 'url = site1'",
         "-T 512 --group-by url", "-T 512 --dedup --first 90", "--levels 128,512 --oversize split", "-T 512 --split a=50%,b=50% --take a",
         "-T 512 --exclude text/corpus.jsonl#0", "-T 64 --oversize split --overlap 9 --sequence-slots 20", "-T 512 --strategy naive", "-T 512 --max-column score=3"]
EXPORTS = ["mds", "mds --compress zstd --ids", "webdataset", "webdataset --ids", "energon", "megatron"]


def pack(source, T, options=""):
    return f"bload pack -q {source} {'' if ' -T ' in f' {options} ' or '-T longest' in options else f'-T {T}'} {options} -o $O/d"


def table():
    ways = {}

    def add(name, *commands):
        assert name not in ways, name
        ways[name] = commands

    for kind, (source, T, options) in SOURCES.items():
        for option in options:
            add(f"{kind} {option}".strip(), pack(source, T, option))
    for form in FORMS:
        add(f"form {form}", pack(TEXT + " --keep url,score", 512, form))
        add(f"array form {form}", pack(POSES, 80, form))
    for encode in "jpeg", "jpeg:60:444 --pad repeat", "delta --compress zstd", "jpeg --store -T 20", "delta --compress zstd:1 --oversize split -T 20":
        add(f"encode {encode}", pack(VIDEO, 60, f"--encode {encode} --shard-size 300K"))
    for option in PLANS:
        add(f"plan {option}", f"bload plan -q --lengths lengths.txt -T 512 {option} -o $O/plan.tsv --report $O/report.json")
    add("plan counts", "bload plan -q --lengths counts.txt -T 256 -o $O/plan.tsv")
    add("compare", "bload compare --lengths lengths.txt -T 512 --json >$O/compare.json")
    for kind in "video", "text", "audio", "times", "nemo", "fields", "tar", "spoilt":
        source, T, options = SOURCES[kind]
        source, words = source.replace("--shard-size 200K", ""), options[0].replace("--oversize split", "")
        given = source if kind == "fields" else " ".join(source.split()[1:])
        add(f"scan {kind}", f"bload scan -q {source} {words} -o $O/t.tsv",
            f"bload scan -q {source} {words} --task 0/2 -o $O/parts", f"bload scan -q {source} {words} --task 1/2 -o $O/parts")
        add(f"by hand {kind}", f"bload scan -q {source} {words} -o $O/t.tsv", f"bload plan -q -T {T} --oversize split $O/t.tsv -o $O/plan.tsv",
            f"bload pack -q --sequences $O/t.tsv --plan $O/plan.tsv {given} {words} -T {T} --oversize split -o $O/d")
        add(f"tasks {kind}", *(f"{pack(source, T, options[0])} --shard-size 20K --task {i}/3" for i in (2, 0, 1)), "bload finish -q $O/d")
    store = pack(TEXT + " --keep url,score", 512, "--store --shard-size 30K")
    for view in VIEWS:
        add(f"view {view}", store, f"bload view -q $O/d {view} -o $O/v")
    other = "bload pack -q text/plain --tokenizer bytes --documents line --store -T auto -o $O/e"
    for mix in "--mix random --epochs 2", "--mix batch --world-size 2 --batch-size 2", "--epoch-steps 20000 --repeat-max 9":
        add(f"mixture {mix}", store, other, f"bload view -q $O/d=0.3 $O/e=0.7 -T 512 --oversize split {mix} -o $O/v")
    add("view packed", store, "bload view -q $O/d -T 300 --oversize split -o $O/v", "bload pack -q $O/v -o $O/p")
    add("extend", pack(TEXT, 512, "--first 90"), f"bload pack -q {TEXT} -T 512 --extend $O/d -o $O/more",
        "bload view -q $O/d $O/more -T 512 -o $O/v")
    for export in EXPORTS:
        add(f"export {export}", pack(IDS, 128), f"bload export -q $O/d --to {export} -o $O/x")
        add(f"export view {export}", pack(IDS, 128, "--store"), "bload view -q $O/d -T 90 -o $O/v", f"bload export -q $O/v --to {export} -o $O/x")
    for name, source, T in ("text", TEXT, 512), ("array", POSES, 80), ("video", VIDEO, 60):
        add(f"said of {name}", pack(source, T), "bload info $O/d --json >$O/info.json", "bload verify $O/d --json >$O/verify.json",
            "bload cat $O/d --json >$O/cat.json || bload cat $O/d >$O/cat.txt || true", "bload report $O/d -o $O/page.html || true",
            "bload show $O/d -o $O/show.html || true")
    return ways
