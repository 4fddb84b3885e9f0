# --frames and --frames-rule: the frames are those of the whole file at the numbers of the list, wherever decoding begins.
# shellcheck shell=bash disable=SC2317,SC2086

slices() { python3 "$BLOAD_ROOT/tests/cli/slices.py" "$@"; }

# Columns of a table that was scanned.
rows() { cut -f "$1" <"${2:-$OUT}" | tail -n +2; }

# The folder v: many keyframes and B-frames, irregular times, hidden frames, and containers that are decoded from their beginning.
videos() {
    fixtures v h264-gops-120.mp4=gops.mp4 h264-50.mkv=open.mkv h264-late-60.mp4=late.mp4 vfr-20.mp4=vfr.mp4 vp9-24.webm=hidden.webm h264-gops-60.ts=stream.ts mpeg4-40.avi=packed.avi
    expect 0 bload pack -q v -T longest --size 64x48 --times -o whole
    files=$(rows 1 whole/sequences.tsv | wc -l)
}

test_forms() {
    videos
    while read -r form count words; do
        rm -rf some
        expect 0 bload pack -q v --size 64x48 --times --frames $count --frames-at $form $words -o some
        is "$files" "$(slices whole some frames $form)"
        is "$files" "$(slices whole some times $form)"
        expect 0 bload verify -q some
    done <<'END'
linspace 8 -T 8
linspace-round 8 -T 16
middle 8 -T 8
start 5 -T 8
middle 3 -T 4 --count decode
linspace 1 -T 4
middle 1 -T 4
linspace 70 -T longest
start 70 -T longest
linspace-round 300 -T longest
END
    # Clips of fewer frames than N repeat some, which the table and the summary count.
    expect 0 bload scan v/vfr.mp4 --frames 32 :err 'repeated frames: 12 in 1 sequence (column repeated_frames)'
    is '32 frames=32 20 12' "$(rows 2,8,11,12 | tr '\t' ' ')"
}

# Pieces of a sequence, in any number of tasks and workers.
test_pieces_and_tasks() {
    videos
    expect 0 bload pack -q v --size 64x48 --frames 30 --frames-at middle -T 30 -o one
    is "$files" "$(slices whole one frames middle)"
    expect 0 bload pack -q v --size 64x48 --frames 30 --frames-at middle -T 7 --oversize split -o cut
    expect 0 bload verify -q cut
    in_tasks 3 v --size 64x48 --frames 30 --frames-at middle -T 7 --oversize split -o tasks :same-in cut shards.tsv
    for id in $(rows 1 one/sequences.tsv); do
        bload cat one "$id" --as npy >a
        bload cat cut "$id" --as npy >b
        cmp a b
    done
}

test_clips() {
    videos
    cat >c.csv <<'END'
path,start_frame,end_frame
v/gops.mp4,10,90
v/gops.mp4,47,50
v/gops.mp4,119,120
v/late.mp4,3,
v/stream.ts,5,44
v/vfr.mp4,,
END
    for form in linspace linspace-round middle start; do
        rm -rf some
        expect 0 bload pack -q --kind video c.csv --size 64x48 --frames 6 --frames-at $form -T 6 -o some
        is 6 "$(slices whole some frames $form)"
    done
    is '80 3 1 57 39 20' "$(awk -F '\t' 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "source_frames") at = i; next } { print $at }' some/sequences.tsv | xargs)"
    # With a rule n is the number of frames of the clip.
    expect 0 bload scan -q --kind video c.csv --frames-rule qwen3-vl :column length '6 3 1 4 4 4'
}

# The lists themselves are compared with the released code by tests/trainers; here N, and one list.
test_rules() {
    videos
    expect 0 bload scan -q v/gops.mp4 v/vfr.mp4 --frames-rule qwen-vl-utils --fps 7.3
    is '34 rule=qwen-vl-utils fps=73/10 min=4 max=768 factor=2 120' "$(rows 2,8,11 | tr '\t' ' ' | head -n 1)"
    expect 0 bload scan -q v/gops.mp4 --frames-rule qwen3-vl --fps 7.3
    is '35 rule=qwen3-vl fps=73/10 min=4 max=768 120' "$(rows 2,8,11 | tr '\t' ' ')"
    expect 0 bload scan -q v/gops.mp4 --frames-rule qwen2-vl --min-frames 12 --frame-factor 4
    is '12 rule=qwen2-vl fps=2 min=12 max=768 factor=4 120' "$(rows 2,8,11 | tr '\t' ' ')"
    expect 0 bload scan -q v/gops.mp4 --frames-rule qwen2-vl --max-frames 7 :column length 6
    while read -r rule form; do
        rm -rf some
        expect 0 bload pack -q v/gops.mp4 --size 64x48 --frames-rule $rule --fps 5 -T longest -o some
        is 24 "$(rows 2 some/sequences.tsv)"
        is 1 "$(slices whole some frames $form)"
    done <<'END'
qwen-vl-utils linspace-round
qwen2-vl start
qwen3-vl linspace-round
END
    # A video of one frame is too short for a factor of 2.
    ffmpeg -v error -nostdin -y -f lavfi -i testsrc2=size=64x48 -frames:v 1 -c:v libx264 -pix_fmt yuv420p one.mp4
    expect 3 bload scan one.mp4 --frames-rule qwen-vl-utils :err 'one.mp4: too short: --frames-rule takes none of 1 frames'
    expect 0 bload scan -q one.mp4 --frames-rule qwen3-vl :column length 1
}

# Another number or form is another dataset.
test_the_list_is_part_of_the_identity() {
    videos
    expect 0 bload pack -q v/gops.mp4 -T 8 --frames 8 -o some
    expect 0 bload pack -q v/gops.mp4 -T 8 --frames 8 --frames-at linspace -o some
    expect 2 bload pack -q v/gops.mp4 -T 8 --frames 7 -o some :err 'frames'
    expect 2 bload pack -q v/gops.mp4 -T 8 --frames 8 --frames-at middle -o some :err 'frames-at'
    expect 0 bload scan -q v/gops.mp4 --frames 8 -o t
    expect 2 bload pack -q --sequences t -T 8 -o other :err 'frames=8'
}

test_mistakes() {
    fixtures . h264-30.mp4=a.mp4
    mkdir images
    ffmpeg -v error -nostdin -y -i a.mp4 -frames:v 3 images/%d.png
    while IFS='|' read -r words message; do
        expect 2 bload scan $words :err "$message"
    done <<'END'
a.mp4 --frames 8 --stride 2|--frames and --stride cannot be given together
a.mp4 --frames 8 --fps 2|--frames takes the same number of each video: leave --fps out
a.mp4 --frames 8 --frames-rule qwen2-vl|--frames and --frames-rule cannot be given together
a.mp4 --frames-rule qwen2-vl --stride 2|--frames-rule and --stride cannot be given together
a.mp4 --frames-rule qwen2-vl --min-frames 9 --max-frames 8|--min-frames 9 is more than --max-frames 8
a.mp4 --frames-rule qwen2-vl --min-frames 1 --max-frames 3 --frame-factor 4|--frame-factor 4 is more than --max-frames 3: no frame would be taken
a.mp4 --frames-rule qwen3-vl --frame-factor 4|--frame-factor
a.mp4 --frames-rule qwen2-vl --fps 2 --fps-origin zero|--frames-rule takes frames by their numbers
a.mp4 --frames-at middle|--frames-at
a.mp4 --min-frames 4|--min-frames
a.mp4 --frames 0|--frames
a.mp4 --frames 8 --frames-at centre|--frames-at
a.mp4 --frames-rule qwen|--frames-rule
images --kind frames --frames 8|--frames and --frames-rule are for video
END
}
