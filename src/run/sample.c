#include "run/sample.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "run/assembler.h"
#include "run/copier.h"
#include "run/progress.h"
#include "store/folders.h"
#include "store/layout.h"
#include "store/shard_writer.h"

/* Of a block so many bytes are read, but not fewer steps than these: the beginning of a file costs more than the rest.
 * zstd finds no more in larger blocks. */
#define BLOCK_BYTES ((int64_t)16 << 20)
#define BLOCK_STEPS 64

#define SAMPLE_BYTES ((int64_t)256 << 20) /* of all blocks, at most */

/* What taking a sample needs. */
struct sampling {
    struct bl_pack_params pack; /* with this plan and format: */
    struct bl_plan plan;        /* of the blocks of a round */
    struct bl_format format;
    const struct bl_pack_params *of;
    struct bl_sample *sample;
    int64_t filled; /* blocks of the whole plan that have pieces */
    int64_t turn;   /* the next number whose reversed bits give a block, */
    int bits;       /* so many */
    double begun, seconds;
    struct bl_memory_budget memory;
    struct bl_assembler *assembler; /* these two, */
    struct bl_codec *codec;
    struct bl_copier *copier; /* or this one */
    struct bl_compressor *compressor;
    struct bl_block block;
    struct bl_outcomes outcomes;
    atomic_llong read; /* steps; nobody asks for them */
};

bool bl_sample_is_needed_for_bytes(const struct bl_format *format)
{
    return format->compressed || bl_format_encodes(format, BL_ENCODING_JPEG);
}

/* --- which blocks ----------------------------------------------------------------------------------------------- */

/* The next block of the plan, or -1: all have been taken. Numbers with their bits reversed halve the widest gap. */
static int64_t sample_next_block(struct sampling *s)
{
    while (s->turn < INT64_C(1) << s->bits) {
        int64_t turn = s->turn++, block = 0;
        for (int bit = 0; bit < s->bits; bit++)
            block |= (turn >> bit & 1) << (s->bits - 1 - bit);
        if (block < s->filled)
            return block;
    }
    return -1;
}

static void plan_add_piece(struct sampling *s, int64_t piece, int64_t steps)
{
    const struct bl_plan *all = s->of->plan;
    struct bl_plan *plan = &s->plan;
    plan->sequence[plan->pieces] = all->sequence[piece];
    plan->length[plan->pieces] = steps;
    plan->source_start[plan->pieces++] = all->source_start ? all->source_start[piece] : 0;
}

/* Adds a block, or as many of its pieces as fit. Planners put long pieces first: those of a part begin at another
 * place in each block. */
static void plan_add_block(struct sampling *s, int64_t b)
{
    const struct bl_plan *all = s->of->plan;
    int64_t first = all->block_ptr[b], count = all->block_ptr[b + 1] - first, at = 0;
    int64_t skip = s->format.T < all->T ? (int64_t)s->plan.blocks * 7 % count : 0;
    for (int64_t i = 0; i < count && at < s->format.T; i++) {
        int64_t piece = first + (skip + i) % count;
        int64_t steps = bl_plan_piece_length(all, s->of->table->length, (size_t)piece), left = s->format.T - at;
        plan_add_piece(s, piece, steps < left ? steps : left);
        at = bl_plan_next_start(all, at, steps < left ? steps : left);
    }
    s->plan.block_ptr[++s->plan.blocks] = (int64_t)s->plan.pieces;
}

static int plan_make_room(struct sampling *s, struct bl_error *e)
{
    size_t pieces = (size_t)s->format.S * BL_SAMPLE_BLOCKS;
    struct bl_plan *plan = &s->plan;
    plan->T = s->format.T;
    plan->align = s->of->plan->align;
    plan->block_ptr = calloc(BL_SAMPLE_BLOCKS + 1, sizeof *plan->block_ptr);
    plan->sequence = malloc(pieces * sizeof *plan->sequence);
    plan->length = malloc(pieces * sizeof *plan->length);
    plan->source_start = malloc(pieces * sizeof *plan->source_start);
    return plan->block_ptr && plan->sequence && plan->length && plan->source_start ? BL_OK : bl_error_memory(e);
}

/* --- opening ---------------------------------------------------------------------------------------------------- */

static int64_t sample_step_bytes(const struct bl_format *format)
{
    int64_t bytes = 0;
    for (int f = 0; f < format->fields.count; f++)
        bytes += (int64_t)bl_field_step_bytes(&format->fields.field[f]);
    return bytes > 0 ? bytes : 1;
}

static void sample_set_format(struct sampling *s)
{
    const struct bl_plan *all = s->of->plan;
    int64_t T = BLOCK_BYTES / sample_step_bytes(s->of->format);
    T = T > BLOCK_STEPS ? T : BLOCK_STEPS;
    s->format = *s->of->format;
    s->format.T = all->T < T ? all->T : T;
    s->format.S = all->max_sequences;
    s->format.has_source_start |= s->format.T < all->T;
    s->filled = (int64_t)all->blocks;
    while (s->filled && all->block_ptr[s->filled] == all->block_ptr[s->filled - 1])
        s->filled--; /* padding blocks are the last ones */
    while (INT64_C(1) << s->bits < s->filled)
        s->bits++;
}

static int sample_open_worker(struct sampling *s, struct bl_error *e)
{
    const struct bl_pack_params *pack = &s->pack;
    int code = pack->view ? bl_copier_open(&s->copier, pack, e) : bl_assembler_open(&s->assembler, pack, &s->memory, e);
    if (!code && !pack->view)
        code = bl_codec_open(pack->format, pack->pad_repeat, &s->codec, e);
    if (!code && pack->format->compressed)
        code = bl_compressor_open(pack->format->level, &s->compressor, e);
    return code;
}

static int sample_open(struct sampling *s, struct bl_error *e)
{
    sample_set_format(s);
    s->pack = *s->of;
    s->pack.plan = &s->plan;
    s->pack.format = &s->format;
    s->pack.workers = 1;
    s->pack.scatter = NULL;
    bl_memory_budget_init(&s->memory, s->pack.memory);
    int code = plan_make_room(s, e);
    if (code)
        return code;
    code = s->pack.env->isolation ? bl_block_make_shared(&s->block, &s->format, e)
                                  : bl_block_make(&s->block, &s->format, true, e);
    s->block.values = s->pack.values;
    return code ? code : sample_open_worker(s, e);
}

static void sample_close(struct sampling *s)
{
    bl_assembler_close(s->assembler);
    bl_codec_close(s->codec);
    bl_copier_close(s->copier);
    if (s->compressor)
        bl_compressor_close(s->compressor);
    bl_block_free(&s->block);
    bl_outcomes_free(&s->outcomes);
    bl_plan_free(&s->plan);
    bl_memory_budget_free(&s->memory);
}

/* --- blocks ----------------------------------------------------------------------------------------------------- */

static int block_fill(struct sampling *s, struct bl_shard_writer *shard, struct bl_error *e)
{
    struct bl_meter meter = {.sum = &s->read};
    if (s->copier)
        return bl_copier_fill(s->copier, shard, &s->block, 1, &meter, e);
    int code = bl_assembler_fill(s->assembler, &s->block, 1, &meter, &s->outcomes, e);
    return code || !shard ? code : bl_shard_writer_encode_block(shard, &s->block, s->codec, e);
}

static int block_take(struct sampling *s, struct bl_shard_writer *shard, int64_t b, struct bl_error *e)
{
    struct bl_sample *sample = s->sample;
    struct bl_sample_block *taken = &sample->block[sample->blocks++];
    *taken = (struct bl_sample_block){0};
    bl_block_plan(&s->block, &s->format, &s->plan, s->of->table->length, b);
    if (shard)
        bl_shard_writer_place_blocks(shard, &s->block, 1);
    for (int i = 0; i < s->block.num_sequences; i++)
        taken->steps += s->block.length[i];
    taken->stored = s->pack.pad_repeat ? s->format.T : taken->steps;
    sample->sequences += s->block.num_sequences;
    sample->steps += taken->steps;
    double begun = bl_progress_now();
    int code = block_fill(s, shard, e);
    if (!code && shard)
        code = bl_shard_writer_put_blocks(shard, &s->block, 1, s->compressor, e);
    taken->seconds = bl_progress_now() - begun;
    if (!code && shard)
        taken->bytes = bl_shard_writer_block_bytes(shard, &s->block);
    return code;
}

/* --- rounds ----------------------------------------------------------------------------------------------------- */

static int round_compress_header(struct sampling *s, struct bl_error *e)
{
    struct bl_layout layout;
    struct bl_frame frame = {0};
    int code = bl_layout_make(&layout, &s->format, 0, e);
    if (code)
        return code;
    code = bl_compressor_frame(s->compressor, layout.header.data, layout.header.size, &frame, e);
    s->sample->header = code ? 0 : frame.size;
    bl_frame_free(&frame);
    bl_layout_free(&layout);
    return code;
}

static int round_finish(struct sampling *s, struct bl_shard_writer *shard, int first, struct bl_error *e)
{
    struct bl_shard_record record = {0};
    int code = bl_shard_writer_finish(shard, s->compressor, NULL, 0, &record, e);
    if (!code && s->compressor)
        code = round_compress_header(s, e);
    s->sample->tables += s->compressor ? record.bytes - s->sample->header : 0;
    for (int b = first; b < s->sample->blocks && s->compressor; b++)
        s->sample->tables -= s->sample->block[b].bytes;
    bl_shard_record_free(&record);
    return code;
}

/* Each round has a folder of its own. */
static int round_open_shard(struct sampling *s, struct bl_shard_writer **shard, struct bl_error *e)
{
    char name[32];
    if (!bl_sample_is_needed_for_bytes(&s->format))
        return BL_OK;
    snprintf(name, sizeof name, "sample-%d", s->sample->blocks);
    char *dir = bl_path_join(s->of->dir, name);
    int code = dir ? bl_folders_prepare(dir, e) : bl_error_memory(e);
    if (!code)
        code = bl_shard_writer_open(&s->format, dir, 0, shard, e);
    free(dir);
    return code;
}

static int round_run(struct sampling *s, int blocks, struct bl_error *e)
{
    struct bl_shard_writer *shard = NULL;
    int first = s->sample->blocks;
    s->plan.blocks = s->plan.pieces = 0;
    for (int b = 0; b < blocks; b++) {
        int64_t next = sample_next_block(s);
        if (next < 0)
            break;
        plan_add_block(s, next);
    }
    s->format.blocks = s->format.blocks_per_shard = (int64_t)s->plan.blocks;
    if (!s->plan.blocks)
        return BL_OK;
    int code = round_open_shard(s, &shard, e);
    for (size_t b = 0; b < s->plan.blocks && !code; b++)
        code = bl_cancelled(s->pack.env->cancel) ? BL_ECANCEL : block_take(s, shard, (int64_t)b, e);
    if (!code && shard)
        code = round_finish(s, shard, first, e);
    bl_shard_writer_free(shard);
    return code;
}

/* As many blocks as before, or what the time and the disk have room for. */
static int round_blocks(const struct sampling *s)
{
    const struct bl_sample *sample = s->sample;
    double left = s->seconds - (bl_progress_now() - s->begun), spent = 0;
    int64_t block = s->format.T * sample_step_bytes(&s->format);
    int64_t blocks = sample->blocks ? sample->blocks : 1, room = SAMPLE_BYTES / (block ? block : 1) - sample->blocks;
    for (int b = 0; b < sample->blocks; b++)
        spent += sample->block[b].seconds;
    if (sample->blocks && (double)blocks * spent / sample->blocks > left)
        blocks = (int64_t)(left / (spent / sample->blocks));
    blocks = blocks < room || !sample->blocks ? blocks : room;
    blocks = blocks < BL_SAMPLE_BLOCKS - sample->blocks ? blocks : BL_SAMPLE_BLOCKS - sample->blocks;
    return left > 0 && blocks > 0 ? (int)blocks : 0;
}

int bl_sample_take(struct bl_sample *sample, const struct bl_pack_params *pack, double seconds, struct bl_error *e)
{
    struct sampling s = {.of = pack, .sample = sample, .begun = bl_progress_now(), .seconds = seconds};
    *sample = (struct bl_sample){0};
    int code = sample_open(&s, e);
    while (!code) {
        int before = sample->blocks, blocks = before ? round_blocks(&s) : 1;
        code = blocks ? round_run(&s, blocks, e) : BL_OK;
        if (sample->blocks == before)
            break;
    }
    sample->is_whole = sample->blocks == s.filled && s.format.T == pack->plan->T;
    for (size_t i = 0; i < s.outcomes.count; i++)
        sample->failed += s.outcomes.outcome[i].failed;
    sample_close(&s);
    return code;
}
