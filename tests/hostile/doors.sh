# Files that refer to other files: nothing is opened but the inputs, what the system's libraries need, and the dataset.
# shellcheck shell=bash disable=SC2317

command -v strace >/dev/null || skip 'no strace'
strace -qq -o /dev/null true 2>/dev/null || skip 'no process may be traced here'
case $BLOAD in */build/*san/*) skip 'a sanitizer opens files of its own' ;; esac

# The folder in: files that refer to secret.mp4, beside them and above, by paths that lead there and by an address; each with the names of
# several kinds, as the content decides. And two that are sound.
lures() {
    mkdir -p in/frames
    cp "$(fixture h264-30.mp4)" in/good.mp4
    cp in/good.mp4 secret.mp4
    cp secret.mp4 in/secret.mp4.hidden
    ffmpeg -v error -nostdin -y -i in/good.mp4 -c copy -f mov plain.mov
    ffmpeg -v error -nostdin -y -i in/good.mp4 -c copy plain.mkv
    ffmpeg -v error -nostdin -y -i in/good.mp4 -frames:v 3 in/frames/%03d.png
    python3 "$BLOAD_ROOT/tests/hostile/lures.py" "$PWD/secret.mp4" plain.mov plain.mkv in
}

# strangers COMMAND...: runs it, and prints every path that any of its processes asked for that is neither the system's nor the tool, its media
# module, an input or the dataset, and every address.
strangers() {
    strace -f -y -qq -s 4096 -e trace=open,openat,openat2,creat,execve,execveat,connect,bind -e signal=none -o trace "$@" >"$OUT" 2>"$ERR" || true
    python3 - "$PWD" "$BLOAD" "$(bload --version | sed -n 's/^media module: //p')" <<'END'
import os, re, sys
here, *own = sys.argv[1:]
found = set()
for line in open("trace", errors="replace"):
    found.update(re.findall(r"sin6?_port=.*", line))
    call = re.search(r'\b(?:open|openat|openat2|creat|execve|execveat)\((?:\w+(?:<([^>]*)>)?, )?"([^"]*)"', line)
    if not call:
        continue
    path = os.path.normpath(os.path.join(call[1] or here, call[2]))
    if path.startswith(here + "/"):
        if not re.fullmatch(r"in(/[\w%]+\.\w+|/frames(/\d+\.png)?)?|d(/.*)?|d?\.bload.*|table\.tsv.*|plain\..*", path[len(here) + 1:]):
            found.add(path)
    elif path not in (here, *own) and not re.match(r"/(usr|lib\w*|etc|proc|sys|dev/(null|urandom))(/|$)", path):
        found.add(path)
print("\n".join(sorted(found)))
END
}

# Each way of following works where a player is made to follow it: else the lures would show nothing.
test_the_lures_lure() {
    lures
    strangers ffprobe -v quiet -enable_drefs 1 -use_absolute_path 1 in/dref.mov | grep -qx "$PWD/secret.mp4"
    strangers ffprobe -v quiet -enable_drefs 1 in/near.mov | grep -qx "$PWD/secret.mp4"
    strangers ffprobe -v quiet -f concat -safe 0 in/concat.mp4 | grep -qx "$PWD/secret.mp4"
    strangers ffprobe -v quiet -f hls -allowed_extensions ALL in/hls.mp4 | grep -qx "$PWD/secret.mp4"
    strangers ffprobe -v quiet -f lavfi "$(cat in/lavfi.mp4)" | grep -qx "$PWD/secret.mp4"
    strangers ffprobe -v quiet -f vobsub in/vobsub.mp4 >"$OUT"
    grep -q 'openat.*in/vobsub.sub' trace
}

# nothing_else OPTION...: neither by the scan nor by packing what it leaves.
nothing_else() {
    is '' "$(strangers "$BLOAD" scan -q "$@" in -o table.tsv)"
    grep -qE 'openat.*in/(good.mp4|frames)' trace
    ! grep -E 'vobsub.sub|hidden' trace || fail 'a neighbour was opened'
    is '' "$(strangers "$BLOAD" pack -q "$@" -T 50 --oversize split in -o d -j 2)"
    ! grep -E 'vobsub.sub|hidden' trace || fail 'a neighbour was opened'
    [ -e d/manifest.json ] || fail "$(cat "$ERR")"
    rm -r d
}

test_videos_open_nothing_else() {
    lures
    nothing_else --kind video --size 16x16
    nothing_else --kind video --size 16x16 --count decode --fps 5
}

test_sounds_open_nothing_else() {
    lures
    cp "$(fixture tone-8000.wav)" in/tone.wav
    nothing_else --kind audio
}

test_images_open_nothing_else() {
    lures
    rm -f in/*.*
    nothing_else --kind frames --size 16x16
}
