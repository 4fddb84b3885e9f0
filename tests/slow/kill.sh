#!/bin/bash
# kill -9 at many random moments: the same command afterwards gives the same bytes and reuses the shards that were finished.
# KILLS=50 of them, at moments drawn by SEED (printed).
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
BLOAD=${BLOAD:-$root/bload}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
RANDOM=${SEED:=$$}
echo "SEED=$SEED"

mkdir v
for name in h264-30.mp4 mpeg4-40.avi vp9-24.webm h264-50.mkv failing-20.mov damaged-30.mp4; do
    file=$("$root/fixtures/media" $name)
    for copy in 1 2 3 4; do cp "$file" "v/$copy-$name"; done
done

# Packs into the directory d. Called with & it is the tool's own process that is killed.
pack=("$BLOAD" pack -q v -T 60 --size 64x64 --shard-size 1M -o d --compress)

# What a reader sees of a dataset.
digest() {
    (cd "$1" && find . -name .bload -prune -o -type f -print0 | sort -z | xargs -0 sha256sum)
}

failed=no
fault() {
    echo "    $*"
    tail -n 5 "$work/messages" | sed 's/^/    stderr: /'
    echo "not ok kill"
    failed=yes
}

# Shards that bear their names, with inode and time.
finished() {
    find "$1" -name 'shard-*.safetensors*' -path '*/shards/*' -printf '%p %i %T@\n' 2>/dev/null | sort
}

# One life: packing is killed again and again, at a random moment of the time that it takes in all, then left in peace.
life() {
    local kind=$1 deaths=0 reused=0 milliseconds
    rm -rf d
    while [ $deaths -lt 3 ]; do
        finished d >before
        "${pack[@]}" "$kind" 2>>messages &
        milliseconds=$((RANDOM % (took + took / 4 + 1)))
        sleep "$((milliseconds / 1000)).$(printf %03d $((milliseconds % 1000)))"
        kill -9 $! 2>/dev/null || break
        wait $! 2>/dev/null
        deaths=$((deaths + 1))
        kills=$((kills + 1))
        # What was finished before stays as it was.
        finished d >after
        [ -z "$(comm -23 before after)" ] || { fault "kill $kills: a finished shard was written again"; return 1; }
        [ ! -e d/manifest.json ] || digest d | cmp -s - "right.$kind" || { fault "kill $kills: a manifest over something else"; return 1; }
    done
    finished d >before
    "${pack[@]}" "$kind" 2>>messages
    status=$?
    finished d >after
    [ $status = 3 ] || { fault "after kill $kills: status $status"; return 1; }
    [ -z "$(comm -23 before after)" ] || { fault "after kill $kills: a finished shard was written again"; return 1; }
    digest d | diff "right.$kind" - || { fault "after kill $kills: other bytes"; return 1; }
    [ ! -e d/.bload ] || { fault "after kill $kills: d/.bload is left"; return 1; }
    reused=$(wc -l <before)
    shards_reused=$((shards_reused + reused))
}

for kind in none zstd; do
    kills=0
    shards_reused=0
    began=$(date +%s%N)
    rm -rf d
    "${pack[@]}" $kind 2>>messages
    [ $? = 3 ] || fault "the undisturbed run"
    took=$((($(date +%s%N) - began) / 1000000))
    digest d >"right.$kind"
    while [ $kills -lt $((${KILLS:-50} / 2)) ] && [ $failed = no ]; do life $kind || break; done
    [ $failed = yes ] && exit 1
    [ $shards_reused -gt 0 ] || { fault "no shard was ever reused"; exit 1; }
    echo "ok kill, compress $kind ($kills kills, $shards_reused shards reused)"
done
