# The bytes of a dataset depend on inputs, configuration, versions and SIMD level, and on nothing else.
# shellcheck shell=bash disable=SC2317,SC2164,SC2016,SC2086
source "$BLOAD_ROOT/tests/laws/lib.bash"

# Each kind of dataset; blocks of more than a MiB are written past the page cache.
kinds=('' '--size 128x96 --shard-size 4M' '--compress zstd' '-T 20 --oversize split --segment-ids' '--pad repeat --compress zstd:5' '--simd sse2'
    '--encode jpeg --pad repeat' '--encode delta --compress zstd:1 -T 20 --oversize split')

test_however_many_workers() {
    clips
    failing_clip
    for options in "${kinds[@]}"; do
        {
            expect 3 pack one $options -j 1
            expect 3 pack two $options -j 2
            expect 3 pack many $options -j 16
        }
        identical one two
        identical one many
        rm -r one two many
    done
}

test_sound_however_many_workers() {
    sounds
    for options in '' '--compress zstd --dtype f32' '--channels 2 --rate 22050 --simd sse2'; do
        {
            expect 3 pack one -T 5000 --oversize split --shard-size 50K $options -j 1
            expect 3 pack many -T 5000 --oversize split --shard-size 50K $options -j 16
        }
        identical one many
        rm -r one many
    done
}

test_arrays_however_many_workers() {
    arrays
    for options in '' '--compress zstd --array x' '--shard-size 1 --segment-ids -j 2' '--squeeze --time-axis -1 -T 2'; do
        {
            expect 3 pack one -T 333 --oversize split --shard-size 30K $options -j 1
            cp "$ERR" messages
            expect 3 pack many -T 333 --oversize split --shard-size 30K $options -j 16
            err_is < <(sed "s| one/| many/|" messages)
        }
        identical one many
        rm -r one many
    done
}

test_cuts_however_many_workers() {
    speech
    for options in '' '--features fbank40 -T 50 --compress zstd' '--channels 2 --rate 22050 --dtype f32'; do
        {
            expect 3 pack_speech one $options -j 1
            cp "$ERR" messages
            expect 3 pack_speech many $options -j 16
            err_is < <(sed "s| one/| many/|" messages)
        }
        identical one many
        rm -r one many
    done
}

test_images_however_many_workers() {
    images
    for options in '' '--compress zstd -T 20 --oversize split'; do
        {
            expect 3 pack one $options -j 1
            cp "$ERR" messages
            expect 3 pack many $options -j 16
            err_is < <(sed "s| one/| many/|" messages)
        }
        identical one many
        rm -r one many
    done
    for seed in 1 2 3; do
        disturbed_pack LAWS_SHUFFLE=$seed -- other 2>/dev/null || is 3 $?
        expect 3 pack one
        identical one other
        rm -r one other
    done
}

test_labels_however_many_workers() {
    labels
    for options in '-T 20' '--compress zstd -T 300 --segment-ids'; do
        {
            expect 3 pack one --oversize split --shard-size 2K $options -j 1
            cp "$ERR" messages
            expect 3 pack many --oversize split --shard-size 2K $options -j 16
            err_is < <(sed "s| one/| many/|" messages)
        }
        identical one many
        rm -r one many
    done
}

test_fields_however_many_workers() {
    clips
    failing_clip
    further_fields
    attributes
    for options in '-T 20 --oversize split' '--compress zstd --pad repeat'; do
        {
            expect 3 pack one -c fields.yaml $options -j 1
            cp "$ERR" messages
            expect 3 pack many -c fields.yaml $options -j 16
            err_is < <(sed "s| one/| many/|" messages)
        }
        identical one many
        rm -r one many
    done
}

# Tasks, too. Several small blocks are one job.
test_own_fields_however_many_workers() {
    own_fields
    local options field
    for options in '' '--compress zstd' '--shard-size 12K --segment-ids' '--strategy store -T 20' '--world-size 3 --spare 5%'; do
        {
            expect 0 pack one $options -j 1
            expect 0 pack many $options -j 16
            for i in 2 0 1; do expect 0 pack tasks $options --task $i/3; done
            expect 0 bload finish -q tasks
        }
        identical one many
        identical one tasks
        expect 0 bload verify -q one
        for field in array text patches lines boxes; do
            python3 "$BLOAD_ROOT/tests/laws/blocks.py" one $field >found
            ! grep wrong found || fail "$field $options"
            [ "$(wc -l <found)" -ge 48 ] || fail "$field $options: too few places"
        done
        rm -r one many tasks
    done
}

test_the_messages_too() {
    clips
    failing_clip
    expect 3 pack one -j 1
    cp "$ERR" messages
    err_has 'failed sub/fails.mov'
    expect 3 pack many -j 16
    err_is < <(sed "s| one/| many/|" messages)
}

test_whatever_the_order_of_a_directory() {
    clips
    expect 3 pack one
    for seed in 1 2 3 4 5; do
        ls -U in >order
        disturbed LAWS_SHUFFLE=$seed ls -U in >shuffled
        ! cmp -s order shuffled || fail "seed $seed shuffles nothing"
        disturbed_pack LAWS_SHUFFLE=$seed -- other || [ $? = 3 ]
        identical one other
        rm -r other
    done
}

test_whatever_the_file_system() {
    clips
    expect 3 pack one --size 128x96 --shard-size 4M
    in_small_disk 20M '
        expect 3 pack disk/other --size 128x96 --shard-size 4M
        identical one disk/other'
}

test_whatever_lies_in_new_memory() {
    clips
    cp "$(fixture damaged-30.mp4)" in/damaged.mp4
    failing_clip
    expect 3 pack one
    for byte in 85 170; do
        expect 3 env MALLOC_PERTURB_=$byte "$BLOAD" pack -q in -T 50 --size 64x48 --shard-size 1M -o other
        identical one other
        rm -r other
    done
}

# Damaged ones, too, of which decoders conceal what they can.
test_real_videos() {
    media=$(shared data/media)
    mkdir in
    for file in decord_corrupted.mp4 derived_bitflips.mp4 derived_trunc60.ts derived_trunc60.mkv moz_no_timescale.mp4 \
        exo_invalid-bitstream.webm derived_vp9_altref.webm derived_mpeg4_bframes.avi tc_h265_10bits.mp4; do
        cp "$media/$file" in
    done
    expect 3 pack one --size 32x32 -T 64 --oversize split -j 1
    expect 3 env MALLOC_PERTURB_=165 "$BLOAD" pack -q in -T 64 --size 32x32 --shard-size 1M -o other --oversize split -j 16
    identical one other
}

# valgrind's processor has AVX2, but no AVX-512; it has no filter of system calls either, which the manifest would have a note of.
test_with_and_without_avx512() {
    command -v valgrind >/dev/null || skip 'no valgrind'
    case $BLOAD in */build/*san/*) skip 'valgrind cannot run what a sanitizer made' ;; esac
    cat >processor.c <<'END'
#include <stdio.h>
int main(void)
{
    printf("%d %d\n", __builtin_cpu_supports("avx2") != 0, __builtin_cpu_supports("avx512f") != 0);
}
END
    "${CC:-cc}" -o processor processor.c
    [ "$(./processor)" = '1 1' ] || skip 'no AVX-512 here'
    is '1 0' "$(valgrind -q --tool=none ./processor)"
    clips
    rm in/sub/deep/x.mp4 in/clip10.avi
    for options in '' '--simd none'; do
        {
            expect 3 pack with $options
            expect 3 valgrind -q --tool=none "$BLOAD" pack -q in -T 50 --size 64x48 --shard-size 1M -o without --isolate off $options
        }
        identical with without
        rm -r with without
    done
}

# libjpeg-turbo chooses vectors by itself, and takes options from the environment.
test_encoded_whatever_vectors_and_environment() {
    clips
    expect 3 pack one --encode jpeg
    for variable in JSIMD_FORCENONE JSIMD_FORCESSE2 JSIMD_NOHUFFENC TJ_OPTIMIZE TJ_RESTART TJ_PROGRESSIVE TJ_ARITHMETIC; do
        expect 3 env $variable=1 "$BLOAD" pack -q in -T 50 --size 64x48 --shard-size 1M -o other --encode jpeg
        identical one other
        rm -r other
    done
}

test_whatever_the_c_library_chooses() {
    clips
    expect 3 pack one
    expect 3 env GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX512F,-AVX512VL,-AVX512BW,-AVX2,-AVX,-ERMS,-SSSE3 \
        "$BLOAD" pack -q in -T 50 --size 64x48 --shard-size 1M -o other
    identical one other
}

# Nor what of its mathematics has fused multiplication: the tables of features.
test_features_whatever_the_c_library_chooses() {
    sounds
    local features mask=GLIBC_TUNABLES=glibc.cpu.hwcaps=-FMA,-FMA4,-AVX2,-AVX,-AVX512F,-AVX512VL
    for features in whisper80 fbank80 'fbank23 --rate 22050 --snip-edges'; do
        {
            expect 3 pack one --features $features --oversize split --simd sse2
            expect 3 env $mask "$BLOAD" pack -q in -T 50 --shard-size 1M -o other --features $features --oversize split --simd sse2
        }
        identical one other
        rm -r one other
    done
}

test_wherever_it_runs() {
    clips
    cat >set.yaml <<'END'
sources:
  - path: in
T: 50
size: 64x48
shard-size: 1M
END
    expect 3 pack one
    expect 3 bload pack -q -c set.yaml -o two
    identical one two
    mkdir elsewhere
    cd elsewhere
    expect 3 bload pack -q -c ../set.yaml -o ../three
    cd /
    expect 3 bload pack -q -c "$OLDPWD/../set.yaml" -o "$OLDPWD/../four"
    cd "$OLDPWD/.."
    identical one three
    identical one four
    # Whoever goes on with it may stand somewhere else, too.
    disturbed LAWS_DO='kill -9 $PPID' LAWS_AFTER=shard-00000000.safetensors "$BLOAD" pack -q -c set.yaml -o five || is 137 $?
    cd elsewhere
    expect 3 bload pack -q -c ../set.yaml -o ../five
    cd ..
    identical one five
}

test_whatever_the_hour_and_the_names_of_the_day() {
    clips
    expect 3 pack one
    sleep 1.1
    find in -exec touch {} +
    expect 3 env TZ=Asia/Tokyo LC_ALL=C.UTF-8 LANG=tr_TR.UTF-8 bash -c 'umask 077; "$@"' umask \
        "$BLOAD" pack -q in -T 50 --size 64x48 --shard-size 1M -o other
    identical one other
}
