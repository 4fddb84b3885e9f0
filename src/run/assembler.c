/* Fills blocks, in two ways that share nothing: a copier copies the stored steps of a view, and an assembler has a
 * reader decode the inputs.
 *
 * A worker (struct bl_shard_worker) owns one of the two, so that neither needs a lock. An assembler leaves a block
 * decoded and then encodes it; a copier fills a block in its encoded form already. */
#include "run/assembler.h"

#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/process.h"
#include "kind/input_stat.h"
#include "kind/reservation.h"
#include "run/heartbeat.h"
#include "run/bucketing.h"
#include "store/row_reader.h"

/* --- copier ------------------------------------------------------------------------------------------------------- */

/* The most shards that a copier keeps open, over all sources. A plain shard costs one descriptor; a compressed shard
 * also costs the memory of the frames that were read last. */
#define PLAIN_MOST 256
#define COMPRESSED_MOST 16
#define COMPRESSED_BYTES ((int64_t)64 << 20)

struct bl_copier {
    const struct bl_pack *pack;
    struct bl_view view;
    int64_t *offsets;       /* [T + 1] offsets in files of the JPEG files of one block; NULL: no field is JPEG */
    struct bl_buffer files; /* the JPEG files of one field of one block, one after the other */
};

/* --- the sources ------------------------------------------------------------------------------------------------ */

/* Returns the bytes that an open shard of the source takes: a frame that is kept, and room to read another. */
static int64_t source_shard_memory(const struct bl_dataset *source)
{
    const struct bl_format *format = &source->manifest.format;
    int64_t frame = (int64_t)bl_format_frame_size(format), largest = 0;
    for (int f = 0; f < format->fields.count; f++) {
        int64_t bytes = (int64_t)bl_format_block_bytes(format, f);
        largest = bytes > largest ? bytes : largest;
    }
    frame = largest < frame ? largest : frame;
    return format->compressed ? 2 * frame + (int64_t)BL_KEPT_BYTES : 0;
}

/* Returns how many shards of this source to keep open, at least 1. sources: their number, which share the limits.
 * descriptors: how many this copier may open. */
static int64_t source_keeps(const struct bl_dataset *source, int64_t sources, int64_t descriptors)
{
    const struct bl_format *format = &source->manifest.format;
    int64_t most = format->compressed ? COMPRESSED_BYTES / source_shard_memory(source) : PLAIN_MOST;
    if (format->compressed && most > COMPRESSED_MOST)
        most = COMPRESSED_MOST;
    most = most < descriptors ? most : descriptors;
    most /= sources;
    int64_t shards = bl_format_shards(format);
    most = most < shards ? most : shards;
    return most > 1 ? most : 1;
}

int64_t bl_copier_memory(const struct bl_view *view)
{
    int64_t bytes = (int64_t)1 << 20;
    for (size_t s = 0; s < view->sources; s++)
        bytes += (source_keeps(&view->source[s], (int64_t)view->sources, INT64_MAX) + 1) *
                 source_shard_memory(&view->source[s]);
    return bytes;
}

/* Closes the sources and frees the copier. NULL is accepted. */
static void copier_close(struct bl_copier *c)
{
    if (!c)
        return;
    bl_view_close(&c->view);
    bl_buffer_free(&c->files);
    free(c->offsets);
    free(c);
}

/* Opens the view pack->view once more, for this worker. pack must outlive the copier. */
static int copier_open(struct bl_copier **copier, const struct bl_pack *pack, struct bl_error *e)
{
    struct bl_copier *c = calloc(1, sizeof *c);
    if (!c)
        return bl_error_memory(e);
    c->pack = pack;
    int code = bl_view_open(&c->view, pack->view->dir, e);
    /* Copiers may use half of the descriptors of the process. */
    int64_t workers = pack->share.workers > 0 ? pack->share.workers : 1;
    int64_t descriptors = code ? 0 : bl_descriptors_raise() / 2 / workers;
    for (size_t s = 0; s < c->view.sources && !code; s++) {
        struct bl_dataset *source = &c->view.source[s];
        code = bl_dataset_keep(source, source_keeps(source, (int64_t)c->view.sources, descriptors), e);
    }
    if (!code && bl_format_encodes(pack->format, BL_ENCODING_JPEG)) {
        c->offsets = calloc((size_t)pack->format->T + 1, sizeof *c->offsets);
        code = c->offsets ? BL_OK : bl_error_memory(e);
    }
    if (code)
        copier_close(c);
    else
        *copier = c;
    return code;
}

/* --- pieces ----------------------------------------------------------------------------------------------------- */

/* Returns the first step of piece i in its sequence. source_start counts from the first stored step instead. */
static int64_t piece_step(const struct bl_copier *c, const struct bl_block *block, int i)
{
    const struct bl_places *places = &c->view.places;
    return block->source_start[i] + (places->source_start ? bl_places_begin(places, block->sequence[i]) : 0);
}

/* Copies field f of piece i into the block. A bucketed piece is read as a whole with field 0. */
static int piece_copy(struct bl_copier *c, struct bl_block *block, int i, int f, struct bl_error *e)
{
    size_t bytes = bl_field_step_bytes(&c->pack->format->fields.field[f]);
    size_t piece = (size_t)(c->pack->plan->block_ptr[block->index] + i);
    if (bl_cancelled(c->pack->env->cancel))
        return BL_ECANCEL;
    if (bl_bucketing_has(c->pack->bucketing, piece)) {
        if (f)
            return BL_OK;
        const struct bl_fields *fields = &c->pack->format->fields;
        uint8_t *out[BL_FIELDS_MAX];
        for (int k = 0; k < fields->count; k++)
            out[k] = block->field[k] + (size_t)block->cu_seqlens[i] * bl_field_step_bytes(&fields->field[k]);
        return bl_bucketing_read(c->pack->bucketing, piece, block->length[i], out, e);
    }
    return bl_view_copy_steps(&c->view, block->sequence[i], piece_step(c, block, i), block->length[i], f,
                              block->field[f] + (size_t)block->cu_seqlens[i] * bytes, e);
}

/* Appends the JPEG files of piece i, whose steps may lie in several blocks of the source. */
static int piece_copy_files(struct bl_copier *c, const struct bl_block *block, int i, int f, struct bl_error *e)
{
    int64_t done = 0, step = piece_step(c, block, i);
    while (done < block->length[i]) {
        struct bl_view_steps steps;
        const int64_t *offsets;
        const uint8_t *bytes;
        if (bl_cancelled(c->pack->env->cancel))
            return BL_ECANCEL;
        BL_TRY(bl_view_find(&c->view, block->sequence[i], step + done, block->length[i] - done, &steps, e));
        const int its = bl_view_field_of(&c->view, steps.source, f);
        BL_TRY(bl_dataset_copy_files(steps.source, steps.block, its, steps.first, steps.end, &offsets, &bytes, e));
        int64_t n = steps.end - steps.first, at = block->cu_seqlens[i] + done;
        for (int64_t k = 0; k < n; k++)
            c->offsets[at + k + 1] = c->offsets[at + k] + (offsets[k + 1] - offsets[k]);
        if (offsets[n] > offsets[0])
            bl_buffer_append(&c->files, bytes, (size_t)(offsets[n] - offsets[0]));
        BL_TRY(bl_buffer_check(&c->files, e));
        done += n;
    }
    return BL_OK;
}

/* --- blocks ----------------------------------------------------------------------------------------------------- */

/* Pads own field f of a block up to its capacity. Shards store flat fields without padding. */
static void block_pad_own(const struct bl_format *format, struct bl_block *block, int f)
{
    const struct bl_field *field = &format->fields.field[f];
    if (field->own && !field->flat)
        bl_field_pad_between(field, block->field[f], (size_t)block->own[f][format->S], (size_t)field->capacity, false);
}

/* Copies field f of all pieces and pads between them. Stored differences are padded in the same way as decoded steps.
 */
static int field_copy(struct bl_copier *c, struct bl_block *block, int f, struct bl_error *e)
{
    const struct bl_format *format = c->pack->format;
    const struct bl_field *field = &format->fields.field[f];
    size_t at = 0;
    int code = BL_OK;
    for (int i = 0; i < block->num_sequences && !code && field->own; i++)
        code = bl_cancelled(c->pack->env->cancel)
                   ? BL_ECANCEL
                   : bl_view_copy_own(&c->view, block->sequence[i], f, block->own[f][i + 1] - block->own[f][i],
                                      bl_block_place_of(block, &format->fields, f, i), e);
    if (field->own) {
        block_pad_own(format, block, f);
        return code;
    }
    for (int i = 0; i < block->num_sequences && !code; i++) {
        bl_field_pad_between(field, block->field[f], at, (size_t)block->cu_seqlens[i], format->pad_repeat);
        code = piece_copy(c, block, i, f, e);
        at = (size_t)(block->cu_seqlens[i] + block->length[i]);
    }
    if (!code)
        bl_field_pad_between(field, block->field[f], at, (size_t)format->T, format->pad_repeat);
    return code;
}

/* Pads steps t to end - 1: each repeats the file of the previous step, or has an empty file. */
static int files_pad(struct bl_copier *c, int64_t t, int64_t end, struct bl_error *e)
{
    int64_t size = t > 0 && c->pack->format->pad_repeat ? c->offsets[t] - c->offsets[t - 1] : 0;
    if (size && t < end && !bl_buffer_reserve(&c->files, (size_t)size * (size_t)(end - t)))
        return bl_error_memory(e);
    for (; t < end; t++) {
        if (size)
            bl_buffer_append(&c->files, c->files.data + c->files.size - (size_t)size, (size_t)size);
        c->offsets[t + 1] = c->offsets[t] + size;
    }
    return BL_OK;
}

/* Puts the JPEG files of field f of a block into the shard: those of its pieces, and between them the files of the
 * padding. c->offsets[t] is where the file of step t begins; the last entry is the size of all files. */
static int field_copy_files(struct bl_copier *c, struct bl_shard_writer *shard, struct bl_block *block, int f,
                            struct bl_error *e)
{
    int64_t at = 0;
    int code = BL_OK;
    bl_buffer_clear(&c->files);
    for (int i = 0; i < block->num_sequences && !code; i++) {
        code = files_pad(c, at, block->cu_seqlens[i], e);
        if (!code)
            code = piece_copy_files(c, block, i, f, e);
        at = block->cu_seqlens[i] + block->length[i];
    }
    if (!code)
        code = files_pad(c, at, c->pack->format->T, e);
    return code ? code : bl_shard_writer_put_files(shard, block, f, c->offsets, c->files.data, e);
}

/* Fills the fields of these planned blocks in their encoded form. JPEG files go into the shard, other fields into the
 * block. meter: as for bl_shard_worker_fill. BL_EFAIL: a source cannot be read or is damaged. */
static int copier_fill(struct bl_copier *c, struct bl_shard_writer *shard, struct bl_block *block, int blocks,
                       const struct bl_meter *meter, struct bl_error *e)
{
    const struct bl_format *format = c->pack->format;
    struct bl_meter steps = *meter;
    int code = BL_OK;
    for (int b = 0; b < blocks && !code; b++) {
        for (int f = 0; f < format->fields.count && !code; f++)
            code = format->encoding[f].kind == BL_ENCODING_JPEG ? field_copy_files(c, shard, &block[b], f, e)
                                                                : field_copy(c, &block[b], f, e);
        for (int i = 0; i < block[b].num_sequences; i++)
            steps.weight += block[b].length[i];
    }
    if (code == BL_EDATA || code == BL_EUSAGE) {
        bl_error_prefix(e, "a source of %s is damaged (bload verify tells more)", c->view.dir);
        return e->code = BL_EFAIL;
    }
    steps.whole = steps.weight;
    if (!code)
        bl_meter_report(&steps, steps.whole);
    return code;
}

/* --- assembler ---------------------------------------------------------------------------------------------------- */

/* Reads pieces by the reader of the kind. Inputs that need more memory than a reader always has reserve it from the
 * budget of all workers, and give it back after each piece. */
struct bl_assembler {
    const struct bl_pack *pack;
    struct bl_kind_env env;
    struct bl_reservation reservation;
    struct bl_reader *reader;
    struct bl_file_check look; /* notices a file that changed since the scan */
    struct bl_row_reader row;
    struct bl_reading *reading;
    int64_t slowest; /* row of the slowest piece of the last fill, or -1 */
    double slowest_seconds;
};

/* Closes the reader and frees the assembler. NULL is accepted. */
static void assembler_close(struct bl_assembler *a)
{
    if (!a)
        return;
    if (a->reader)
        a->reader->close(a->reader);
    bl_file_check_free(&a->look);
    bl_row_reader_free(&a->row);
    free(a);
}

/* Opens an assembler. The parameters are those of bl_shard_worker_open. */
static int assembler_open(struct bl_assembler **assembler, const struct bl_pack *pack, struct bl_memory_budget *memory,
                          struct bl_reading *reading, struct bl_error *e)
{
    struct bl_assembler *a = calloc(1, sizeof *a);
    if (!a)
        return bl_error_memory(e);
    a->pack = pack;
    a->reading = reading;
    a->env = *pack->env;
    a->env.reservation = &a->reservation;
    a->reservation =
        (struct bl_reservation){.budget = memory, .cancel = pack->env->cancel, .included = pack->kind->read->memory};
    int code = pack->kind->read->open(pack->config, &a->env, &pack->format->fields, &a->reader, e);
    if (code)
        assembler_close(a);
    else
        *assembler = a;
    return code;
}

/* --- pieces ----------------------------------------------------------------------------------------------------- */

/* Reads piece i into its place in the block. Content that does not decode is no error: the piece is marked as failed,
 * and outcomes gets the reason. Out of memory, which a decoder may report as bad content, is an error. */
static int assembler_read_piece(struct bl_assembler *a, struct bl_block *block, int i, struct bl_meter *meter,
                                struct bl_outcomes *outcomes, struct bl_error *e)
{
    const struct bl_pack *pack = a->pack;
    const struct bl_fields *fields = &pack->format->fields;
    int64_t sequence = block->sequence[i];
    size_t piece = (size_t)(pack->plan->block_ptr[block->index] + i);
    uint8_t *out[BL_FIELDS_MAX];
    int64_t own[BL_FIELDS_MAX] = {0};
    for (int f = 0; f < fields->count; f++) {
        out[f] = bl_block_place_of(block, fields, f, i);
        own[f] = block->own[f] ? block->own[f][i + 1] - block->own[f][i] : 0;
    }
    if (bl_bucketing_has(pack->bucketing, piece))
        return bl_bucketing_read(pack->bucketing, piece, block->length[i], out, e);
    struct bl_request request = {.sequence = sequence,
                                 .source_start = block->source_start[i],
                                 .steps = block->length[i],
                                 .out = out,
                                 .own = own,
                                 .meter = meter};
    if (block->shared.data)
        request.memory = &block->shared;
    struct bl_note note = {0};
    struct bl_error fault = {0};

    BL_TRY(bl_row_reader_read(pack->table, (size_t)sequence, &a->row, e));
    char *open_path = bl_path_join(pack->base, a->row.row.path);
    if (!open_path)
        return bl_error_memory(e);
    request.row = a->row.row;
    request.row.path = open_path;
    bl_error_memory_watch();
    int code = bl_file_check_read(&a->look, pack->kind, a->reader, &request, &note, &fault);
    bl_reservation_release(&a->reservation);
    free(open_path);
    if (bl_error_memory_seen() && code != BL_ECANCEL) {
        code = bl_error_memory(e);
        bl_error_prefix(e, "%s", request.row.id);
        return code;
    }
    if (code == BL_EDATA) {
        bl_block_fail(block, pack->format, i);
        return bl_outcomes_add(outcomes, sequence, true, request.steps, fault.text, e);
    }
    if (code)
        return bl_error_pass(e, code, &fault);
    return note.text[0] ? bl_outcomes_add(outcomes, sequence, false, 0, note.text, e) : BL_OK;
}

/* --- padding ---------------------------------------------------------------------------------------------------- */

/* Pads steps from to to - 1 of all fields on the common steps. */
static void block_pad_range(const struct bl_pack *pack, struct bl_block *block, size_t from, size_t to)
{
    const struct bl_fields *fields = &pack->format->fields;
    for (int f = 0; f < fields->count; f++) {
        if (!fields->field[f].own)
            bl_field_pad_between(&fields->field[f], block->field[f], from, to, pack->format->pad_repeat);
    }
}

/* ---------------------------------------------------------------------------------------------------------------- */

/* Reads a piece of a block that is filled alone: publishes the sequence in a->reading and measures the time. */
static int piece_read_alone(struct bl_assembler *a, struct bl_block *block, int i, struct bl_meter *meter,
                            struct bl_outcomes *outcomes, struct bl_error *e)
{
    double begun = bl_seconds_now();
    atomic_store(&a->reading->since, bl_meter_clock());
    atomic_store(&a->reading->sequence, block->sequence[i] + 1);
    int code = assembler_read_piece(a, block, i, meter, outcomes, e);
    double seconds = bl_seconds_now() - begun;
    atomic_store(&a->reading->sequence, 0);
    if (seconds > a->slowest_seconds) {
        a->slowest = block->sequence[i];
        a->slowest_seconds = seconds;
    }
    return code;
}

/* Fills one block. is_alone: progress is reported for each piece; otherwise the steps that are not yet in meter->sum
 * are added to *left. */
static int block_fill(struct bl_assembler *a, struct bl_block *block, const struct bl_meter *meter,
                      struct bl_outcomes *outcomes, bool is_alone, int64_t *left, struct bl_error *e)
{
    int code = BL_OK;
    for (int i = 0; i < block->num_sequences && !code; i++) {
        struct bl_meter piece = *meter;
        piece.whole = piece.weight = block->length[i];
        if (bl_cancelled(a->env.cancel))
            code = BL_ECANCEL;
        else if (is_alone)
            code = piece_read_alone(a, block, i, &piece, outcomes, e);
        else
            code = assembler_read_piece(a, block, i, &piece, outcomes, e);
        if (is_alone)
            bl_meter_end(&piece);
        else
            *left += piece.weight - piece.reported;
    }
    if (code)
        return code;
    for (int i = 0; i + 1 < block->num_sequences; i++) {
        size_t end = (size_t)(block->cu_seqlens[i] + block->length[i]), next = (size_t)block->cu_seqlens[i + 1];
        if (block->length[i] > 0 && end < next) /* a failed piece is already zero up to the next one */
            block_pad_range(a->pack, block, end, next);
    }
    block_pad_range(a->pack, block, (size_t)block->cu_seqlens[block->num_sequences], (size_t)a->pack->format->T);
    for (int f = 0; f < a->pack->format->fields.count; f++)
        block_pad_own(a->pack->format, block, f);
    return BL_OK;
}

int64_t bl_assembler_slowest(const struct bl_assembler *a, double *seconds)
{
    *seconds = a->slowest_seconds;
    return a->slowest;
}

/* --- shard workers ------------------------------------------------------------------------------------------------ */

void bl_shard_worker_close(struct bl_shard_worker *w)
{
    assembler_close(w->assembler);
    bl_codec_close(w->codec);
    copier_close(w->copier);
    if (w->compressor)
        bl_compressor_close(w->compressor);
    free(w);
}

int bl_shard_worker_open(struct bl_shard_worker **worker, const struct bl_pack *pack, struct bl_memory_budget *memory,
                         struct bl_reading *reading, struct bl_error *e)
{
    struct bl_shard_worker *w = calloc(1, sizeof *w);
    if (!w)
        return bl_error_memory(e);
    w->format = pack->format;
    w->overlap = (int32_t)pack->plan->overlap;
    int code = pack->view ? copier_open(&w->copier, pack, e) : assembler_open(&w->assembler, pack, memory, reading, e);
    if (code)
        goto out;
    if (!pack->view)
        code = bl_codec_open(pack->format, &w->codec, e);
    if (code)
        goto out;
    if (pack->format->compressed)
        code = bl_compressor_open(pack->format->level, &w->compressor, e);
    *worker = w;
out:
    if (code)
        bl_shard_worker_close(w);
    return code;
}

/* Returns the number of trained steps of piece i, without the steps that it repeats: the previous piece trains those.
 */
static int64_t worker_count_trained(const struct bl_shard_worker *w, const struct bl_block *block, int i)
{
    const struct bl_fields *fields = &w->format->fields;
    const uint8_t *data[BL_FIELDS_MAX];
    const int32_t repeated = block->source_start[i] > 0 ? w->overlap : 0;
    for (int f = 0; f < fields->count; f++)
        data[f] = bl_block_place_of(block, fields, f, i) + (size_t)repeated * bl_field_step_bytes(&fields->field[f]);
    return block->length[i] > repeated ? bl_fields_count_trained(fields, data, block->length[i] - repeated) : 0;
}

int bl_shard_worker_fill(struct bl_shard_worker *w, struct bl_shard_writer *shard, struct bl_block *block, int blocks,
                         const struct bl_meter *meter, struct bl_outcomes *outcomes, struct bl_error *e)
{
    bool has_mask = bl_fields_have_mask(&w->format->fields); /* only then the data say which steps are trained */
    w->encoded = 0;
    struct bl_assembler *a = w->assembler;
    int64_t left = 0;
    int code = w->copier ? copier_fill(w->copier, shard, block, blocks, meter, e) : BL_OK;
    if (a) {
        a->slowest = -1;
        a->slowest_seconds = 0;
    }
    for (int b = 0; a && b < blocks && !code; b++)
        code = block_fill(a, &block[b], meter, outcomes, blocks == 1, &left, e);
    /* The steps of a piece count when it has been read, or, if several blocks are filled together, when all of them are
     * filled: workers that often add a few steps would contend for the cache line of the counter. */
    if (left)
        atomic_fetch_add_explicit(meter->sum, left, memory_order_relaxed);
    struct bl_untrained found = {.counted = blocks};
    for (int b = 0; b < blocks && !code && has_mask; b++) {
        bool is_trained = false;
        for (int i = 0; i < block[b].num_sequences; i++) {
            bool has_some = worker_count_trained(w, &block[b], i) > 0;
            found.pieces += block[b].length[i] && !has_some;
            is_trained |= has_some;
        }
        found.blocks += !is_trained;
    }
    if (!code && has_mask)
        bl_outcomes_add_untrained(outcomes, &found);
    if (w->copier)
        return code;
    const double filled = bl_seconds_now();
    for (int b = 0; b < blocks && !code && shard; b++)
        code = bl_shard_writer_encode_block(shard, &block[b], w->codec, e);
    w->encoded = bl_seconds_now() - filled;
    return code;
}
