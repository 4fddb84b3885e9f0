/* The options of packing, the fields of a dataset, and the draft of its manifest.
 *
 * Each option is an entry of bl_pack_option_table; the types that only packing has are here. A type has a function that
 * parses a text into a member of struct bl_pack_options, and one that formats the member again, such that parsing the
 * result gives the same value: identity lines have it. */
#include "run/options.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/io.h"
#include "base/output.h"
#include "base/text.h"
#include "bload.h"
#include "pool/pipeline.h"
#include "run/mirror.h"
#include "store/block.h"
#include "store/row_reader.h"
#include "store/shard_reader.h"

/* --- options of packing ------------------------------------------------------------------------------------------- */

static const char *const pad_names[] = {"zero", "repeat", NULL};
static const char *const on_error_names[] = {"skip", "fail", NULL};
/* "auto", then the levels in the order of enum bl_simd. */
static const char *const simd_names[] = {"auto", "none", "sse2", "avx2", "neon", NULL};

/* Parses none, zstd or zstd:LEVEL. zstd's own default is 3. */
static bool compress_parse(const struct bl_option *option, const char *text, void *value)
{
    (void)option;
    struct bl_compress *compress = value;
    int64_t level = 3;
    *compress = (struct bl_compress){false, 0};
    if (strcmp(text, "none") == 0)
        return true;
    if (strncmp(text, "zstd", 4) != 0 ||
        (text[4] && (text[4] != ':' || !bl_text_to_int(text + 5, strlen(text + 5), 1, 22, &level))))
        return false;
    *compress = (struct bl_compress){true, (int)level};
    return true;
}

static void compress_format(const struct bl_option *option, const void *value, struct bl_buffer *out)
{
    (void)option;
    const struct bl_compress *compress = value;
    if (compress->on)
        bl_buffer_printf(out, "zstd:%d", compress->level);
    else
        bl_buffer_text(out, "none");
}

#define FRAME_SIZE_MIN ((int64_t)4 << 10) /* smaller frames hardly get smaller */

/* Parses a number of bytes. Frames of more than BL_FRAME_MAX bytes are more than a reader takes. */
static bool frame_size_parse(const struct bl_option *option, const char *text, void *value)
{
    int64_t *size = value;
    (void)option;
    return bl_text_to_bytes(text, size) && *size >= FRAME_SIZE_MIN && *size <= (int64_t)BL_FRAME_MAX;
}

/* Formats 262144 as "256K". */
static void frame_size_format(const struct bl_option *option, const void *value, struct bl_buffer *out)
{
    int64_t size = *(const int64_t *)value;
    int shift = size % (1 << 20) == 0 ? 20 : size % (1 << 10) == 0 ? 10 : 0;
    (void)option;
    bl_buffer_printf(out, "%" PRId64 "%s", size >> shift, shift == 20 ? "M" : shift == 10 ? "K" : "");
}

/* As bl_encoding_parse, but "none" means unencoded. */
static bool encode_parse(const struct bl_option *option, const char *text, void *value)
{
    (void)option;
    return strcmp(text, "raw") != 0 && bl_encoding_parse(strcmp(text, "none") == 0 ? "raw" : text, value);
}

/* Formats the encoding as encode_parse reads it: "none" for raw fields. */
static void encode_format(const struct bl_option *option, const void *value, struct bl_buffer *out)
{
    (void)option;
    const struct bl_encoding *encoding = value;
    char name[BL_ENCODING_NAME_MAX];
    bl_buffer_text(out, encoding->kind == BL_ENCODING_RAW ? "none" : bl_encoding_name(encoding, name));
}

/* Parses N, or P%. */
static bool tolerance_parse(const struct bl_option *option, const char *text, void *value)
{
    (void)option;
    struct bl_tolerance *tolerance = value;
    size_t size = strlen(text);
    tolerance->set = true;
    tolerance->percent = size > 1 && text[size - 1] == '%';
    return bl_text_to_int(text, size - tolerance->percent, 0, tolerance->percent ? 100 : INT64_MAX, &tolerance->value);
}

/* Formats "5" or "5%"; "" if no tolerance was given. */
static void tolerance_format(const struct bl_option *option, const void *value, struct bl_buffer *out)
{
    (void)option;
    const struct bl_tolerance *tolerance = value;
    if (tolerance->set)
        bl_buffer_printf(out, "%" PRId64 "%s", tolerance->value, tolerance->percent ? "%" : "");
}

bool bl_tolerance_exceeded(const struct bl_tolerance *tolerance, int64_t failed, int64_t inputs)
{
    if (!tolerance->set)
        return false;
    return tolerance->percent ? (double)failed * 100 > (double)tolerance->value * (double)inputs
                              : failed > tolerance->value;
}

#define ABOUT_MAX ((size_t)1 << 20) /* bytes */

/* Parses a JSON object on one line. Identity lines have it as it is. */
static bool about_parse(const struct bl_option *option, const char *text, void *value)
{
    (void)option;
    *(const char **)value = text;
    return strlen(text) <= ABOUT_MAX && !strpbrk(text, "\r\n") && bl_manifest_is_object(text);
}

static void about_format(const struct bl_option *option, const void *value, struct bl_buffer *out)
{
    (void)option;
    const char *text = *(const char *const *)value;
    bl_buffer_text(out, text ? text : "");
}

const struct bl_option_type bl_option_compress = {"none|zstd[:LEVEL]", compress_parse, compress_format,
                                                  "none, zstd or zstd:1 to zstd:22"};
static const struct bl_option_type frame_size_type = {"BYTES", frame_size_parse, frame_size_format,
                                                      "a number of bytes from 4K to 64M, such as 256K"};
static const struct bl_option_type encode_type = {"none|jpeg[:QUALITY[:444]]|delta", encode_parse, encode_format,
                                                  "none, jpeg, jpeg:1 to jpeg:100, jpeg:90:444, or delta"};
static const struct bl_option_type about_type = {"JSON", about_parse, about_format,
                                                 "a JSON object on one line, of at most 1 MiB"};
static const struct bl_option_type tolerance_type = {"N|P%", tolerance_parse, tolerance_format,
                                                     "a number of inputs, or a share of them such as 5%"};

const struct bl_option bl_pack_option_table[] = {
    BL_OPTION_STRING("output", struct bl_pack_options, output, BL_AFFECTS_NOTHING,
                     "the dataset's directory, or its URL in a store: s3://BUCKET/NAME; required", .letter = 'o',
                     .placeholder = "DIR"),
    BL_OPTION_FLAG("parents", struct bl_pack_options, parents, BL_AFFECTS_NOTHING,
                   "also make missing directories above it; without it they are an error"),
    BL_OPTION_STRING("sequences", struct bl_pack_options, sequences, BL_AFFECTS_NOTHING,
                     "the table of an earlier bload scan, instead of sources", .placeholder = "FILE"),
    BL_OPTION_STRING("plan", struct bl_pack_options, plan, BL_AFFECTS_NOTHING,
                     "the plan of an earlier bload plan of that table", .placeholder = "FILE"),
    BL_OPTION_STRING("group-by", struct bl_pack_options, group_by, BL_AFFECTS_PLAN,
                     "sequences with different values in this column of the table never share a block",
                     .placeholder = "COLUMN"),
    BL_OPTION_FLAG("store", struct bl_pack_options, store, BL_AFFECTS_NOTHING,
                   "store sequences once, for bload view or reading by id: --strategy store, with -T auto unless -T is "
                   "given"),
    BL_OPTION_BYTES("shard-size", struct bl_pack_options, shard_size, BL_AFFECTS_BYTES,
                    "bytes per shard before compression; at least one block goes into each", .initial = "256M",
                    .min = 1),
    BL_OPTION_CUSTOM("compress", &bl_option_compress, struct bl_compress, struct bl_pack_options, compress,
                     BL_AFFECTS_BYTES, "plain safetensors, or each shard as seekable zstd", .initial = "none"),
    BL_OPTION_CUSTOM("frame-size", &frame_size_type, int64_t, struct bl_pack_options, frame_size, BL_AFFECTS_BYTES,
                     "with --compress zstd, compress at most this many bytes together: with smaller frames, readers "
                     "decompress less for a part of a block",
                     .initial = "64M", .unlisted = true),
    BL_OPTION_CUSTOM(
        "encode", &encode_type, struct bl_encoding, struct bl_pack_options, encode, BL_AFFECTS_BYTES,
        "frames as they are, as JPEG files, or as differences that compress better (delta, with --compress zstd)",
        .initial = "none"),
    BL_OPTION_CHOICE("pad", struct bl_pack_options, pad, pad_names, BL_AFFECTS_BYTES,
                     "fill the end of a block with zeros, or with its last entry", .initial = "zero"),
    BL_OPTION_FLAG("segment-ids", struct bl_pack_options, segment_ids, BL_AFFECTS_BYTES,
                   "add segment_ids I32 [n,T]: 1, 2, ... per sequence, 0 = padding"),
    BL_OPTION_INT("sequence-slots", struct bl_pack_options, sequence_slots, BL_AFFECTS_BYTES, BL_SEQUENCE_SLOTS_HELP,
                  .min = 1, .max = BL_T_MAX - 1, .unlisted = true),
    BL_OPTION_CUSTOM("about", &about_type, const char *, struct bl_pack_options, about, BL_AFFECTS_BYTES,
                     "an object that the manifest keeps for readers, such as how the data were made; Dataset.about in "
                     "Python",
                     .unlisted = true),
    BL_OPTION_CHOICE(
        "simd", struct bl_pack_options, simd, simd_names, BL_AFFECTS_BYTES,
        "instruction set of decoders and scaler, on which the bytes depend; auto: the best of this machine",
        .initial = "auto"),
    BL_OPTION_BYTES("memory", struct bl_pack_options, memory, BL_AFFECTS_NOTHING,
                    "memory limit; a run that needs more is refused at the start", .min = 1),
    BL_OPTION_CHOICE("on-error", struct bl_pack_options, on_error, on_error_names, BL_AFFECTS_NOTHING,
                     "skip unusable inputs, or end the run at the first", .initial = "skip"),
    BL_OPTION_CUSTOM("max-failed", &tolerance_type, struct bl_tolerance, struct bl_pack_options, max_failed,
                     BL_AFFECTS_NOTHING, "end the run when more inputs than this are unusable",
                     .only = "on-error=skip"),
    {0},
};

/* --- parameters of packing ---------------------------------------------------------------------------------------- */

void bl_pack_block_range(const struct bl_pack *pack, int64_t *begin, int64_t *end)
{
    *begin = bl_format_first_block(pack->format, pack->shard_begin);
    *end = bl_format_first_block(pack->format, pack->shard_end);
    *end = *end < pack->format->blocks ? *end : pack->format->blocks;
    *begin = *begin < *end ? *begin : *end;
}

int bl_pack_find_shard(const struct bl_pack *pack, int64_t shard, struct bl_shard_record *record, bool *found,
                       struct bl_error *e)
{
    if (pack->mirror && bl_mirror_has_shard(pack->mirror, shard)) {
        BL_TRY(bl_mirror_read_record(pack->mirror, pack->format, shard, record, found, e));
        if (!*found)
            bl_mirror_drop_shard(pack->mirror, shard);
        return BL_OK;
    }
    if (!pack->missing || !pack->missing->is_missing)
        return bl_shard_find(pack->format, pack->dir, shard, record, found, e);
    *record = (struct bl_shard_record){.shard = shard,
                                       .first_block = bl_format_first_block(pack->format, shard),
                                       .blocks = bl_format_blocks_of(pack->format, shard)};
    *found = !pack->missing->is_missing[shard];
    return BL_OK;
}

/* --- fields of a dataset ------------------------------------------------------------------------------------------ */

/* The fields are resolved by a pipeline: the thread of the caller gives rows to workers, each of which asks the kind
 * for the fields of one file, and compares the results in the order of the rows. */
struct row_job {
    size_t row;
    struct bl_error fault; /* why the file could not be read, or none */
    struct bl_fields fields;
};

struct fields_query {
    const struct bl_pack *pack;
    bool first_file_decides;
    size_t next;
    struct bl_fields *fields; /* of the first readable row */
    size_t first, other;      /* that row, and the first row that differs; SIZE_MAX: none yet */
    int64_t others;           /* number of rows that differ */
    struct bl_error fault;    /* of the first row whose file could not be read */
    size_t faulty;            /* that row */
};

/* Returns the first field of which no row so far has steps, or NULL. */
static const struct bl_field *fields_find_unknown(const struct bl_fields *fields)
{
    for (int f = 0; f < fields->count; f++) {
        if (fields->field[f].rank == BL_RANK_UNKNOWN)
            return &fields->field[f];
    }
    return NULL;
}

/* Makes a job of the next row with steps. If the first file decides, no job follows once its fields are known, and
 * those that it has no steps of. */
static int fields_produce(void *context, void **job_, struct bl_error *e)
{
    struct fields_query *q = context;
    if (q->first_file_decides && q->first != SIZE_MAX && !fields_find_unknown(q->fields))
        return BL_OK;
    while (q->next < q->pack->table->count && !q->pack->table->length[q->next])
        q->next++;
    if (q->next == q->pack->table->count)
        return BL_OK;
    struct row_job *job = calloc(1, sizeof *job);
    if (!job)
        return bl_error_memory(e);
    job->row = q->next++;
    *job_ = job;
    return BL_OK;
}

/* A file that cannot be read is no error here: job->fault says why. */
static int fields_work(void *context, void *worker, void *job_, struct bl_error *e)
{
    (void)worker;
    const struct fields_query *q = context;
    struct row_job *job = job_;
    struct bl_row_reader row = {0};
    char *path = NULL;
    int code = bl_row_reader_read(q->pack->table, job->row, &row, e);
    if (code)
        goto out;
    path = bl_path_join(q->pack->base, row.row.path);
    if (!path) {
        code = bl_error_memory(e);
        goto out;
    }
    row.row.path = path;
    bl_error_memory_watch();
    code = q->pack->kind->read->fields(q->pack->config, q->pack->env, &row.row, &job->fields, &job->fault);
    if (bl_error_memory_seen() && code != BL_ECANCEL)
        code = bl_error_memory(e);
    else if (code)
        code = code == BL_EDATA ? BL_OK : bl_error_pass(e, code, &job->fault);
out:
    free(path);
    bl_row_reader_free(&row);
    return code;
}

/* Compares the fields that have the steps of sequences. Own fields of the inputs are compared by the scan and by
 * readers. */
static bool fields_are_equal(const struct bl_fields *a, const struct bl_fields *b)
{
    if (a->count != b->count)
        return false;
    for (int f = 0; f < a->count; f++) {
        const struct bl_field *x = &a->field[f], *y = &b->field[f];
        if (x->own && y->own)
            continue;
        if (strcmp(x->name, y->name) != 0 || x->dtype != y->dtype || x->rank != y->rank ||
            memcmp(x->shape, y->shape, (size_t)x->rank * sizeof *x->shape) != 0)
            return false;
    }
    return true;
}

/* Takes the fields of the first readable row, and counts the rows that differ from it. */
static int fields_consume(void *context, void *job_, struct bl_error *e)
{
    (void)e;
    struct fields_query *q = context;
    struct row_job *job = job_;
    if (job->fault.code) {
        if (!q->fault.code) {
            q->fault = job->fault;
            q->faulty = job->row;
        }
    } else if (q->first == SIZE_MAX) {
        *q->fields = job->fields;
        q->first = job->row;
    } else if (!q->first_file_decides && !fields_are_equal(q->fields, &job->fields)) {
        if (!q->others++)
            q->other = job->row;
    }
    /* A later row may have steps of an own field of which the first one has none. */
    for (int f = 0; !job->fault.code && f < q->fields->count && f < job->fields.count; f++) {
        if (q->fields->field[f].rank == BL_RANK_UNKNOWN)
            q->fields->field[f] = job->fields.field[f];
    }
    free(job);
    return BL_OK;
}

static void fields_discard(void *context, void *job)
{
    (void)context;
    free(job);
}

/* Reports the first difference. */
static int fields_differ_error(const struct fields_query *q, struct bl_error *e)
{
    struct bl_row_reader first = {0}, other = {0};
    int code = bl_row_reader_read(q->pack->table, q->first, &first, e);
    if (!code)
        code = bl_row_reader_read(q->pack->table, q->other, &other, e);
    if (!code)
        code = bl_error_set(e, BL_EUSAGE,
                            "the frames have several sizes: %" PRId64 " input%s from %s, the first of them %s: "
                            "give --size WxH (with --fit stretch, crop or pad)",
                            q->others, q->others == 1 ? " differs" : "s differ", first.row.id, other.row.id);
    bl_row_reader_free(&first);
    bl_row_reader_free(&other);
    return code;
}

/* Reports the first file that cannot be read, as none can. */
static int fields_unknown_error(const struct fields_query *q, struct bl_error *e)
{
    struct bl_row_reader row = {0};
    if (!q->fault.code)
        return bl_error_set(e, BL_EFAIL, "no sequence is usable, so the size and type of the fields are unknown");
    int code = bl_row_reader_read(q->pack->table, q->faulty, &row, e);
    if (!code)
        code = bl_error_set(e, BL_EFAIL,
                            "no file can be read, so the size and type of the fields are unknown; the first is %s: %s",
                            row.row.path, q->fault.text);
    bl_row_reader_free(&row);
    return code;
}

int bl_fields_resolve(struct bl_fields *fields, const struct bl_pack *pack, bool agreed, struct bl_error *e)
{
    struct bl_error why = {0};
    int code = pack->kind->read->fields(pack->config, pack->env, NULL, fields, &why);
    if (code == BL_OK)
        return BL_OK;
    if (code != BL_EDATA) /* BL_EDATA: the options do not decide them */
        return bl_error_pass(e, code, &why);
    static const struct bl_stages stages = {
        .produce = fields_produce, .work = fields_work, .consume = fields_consume, .discard = fields_discard};
    struct fields_query q = {.pack = pack,
                             .first_file_decides = agreed || pack->kind->read->first_file_decides,
                             .fields = fields,
                             .first = SIZE_MAX,
                             .other = SIZE_MAX};
    int workers = pack->share.workers, slots = workers * 4;
    if (agreed)
        workers = slots = 1; /* one file decides, so do not read ahead */
    BL_TRY(bl_pipeline_run(&stages, &q, workers, slots, pack->env->cancel, e));
    if (q.first == SIZE_MAX)
        return fields_unknown_error(&q, e);
    const struct bl_field *unknown = fields_find_unknown(fields);
    if (unknown)
        return bl_error_set(e, BL_EFAIL, "no sequence has steps of the field %s, so its type and shape are unknown",
                            unknown->name);
    return q.others ? fields_differ_error(&q, e) : BL_OK;
}

/* --- draft of the manifest ---------------------------------------------------------------------------------------- */

struct version_sink {
    struct bl_manifest *manifest;
    struct bl_error *e;
    int code;
};

/* Adds a library and its version, once: the fields of a composite kind may share libraries. The first error stays in
 * sink->code. */
static void draft_add_version(void *sink_, const char *name, const char *version)
{
    struct version_sink *sink = sink_;
    struct bl_manifest_pairs *known = &sink->manifest->libraries;
    for (size_t i = 0; i < known->count && !sink->code; i++) {
        if (strcmp(known->pair[i].name, name) == 0)
            return;
    }
    if (!sink->code)
        sink->code = bl_manifest_pair(known, name, version, sink->e);
}

int bl_manifest_draft_make(struct bl_manifest *m, const struct bl_pack *pack, const struct bl_plan_info *plan_info,
                           const char *identity, const char *simd, struct bl_error *e)
{
    struct version_sink sink = {m, e, BL_OK};
    *m = (struct bl_manifest){.format = *pack->format, .plan_info = *plan_info};
    int code = bl_manifest_text(&m->tool, BLOAD_VERSION, e);
    if (code)
        goto out;
    code = bl_manifest_text(&m->simd, simd, e);
    for (int i = 0; i < pack->format->fields.count && !code; i++) {
        struct bl_buffer made = {0};
        pack->kind->read->describe(pack->config, &pack->format->fields.field[i], &made);
        code = bl_buffer_check(&made, e);
        if (!code)
            code = bl_manifest_text(&m->made[i], made.data, e);
        bl_buffer_free(&made);
    }
    if (code)
        goto out;
    if (pack->kind->read->versions)
        code = pack->kind->read->versions(pack->config, pack->env, draft_add_version, &sink, e);
    if (!code && pack->format->compressed)
        draft_add_version(&sink, "zstd", bl_compressor_version());
    if (!code && bl_format_encodes(pack->format, BL_ENCODING_JPEG))
        draft_add_version(&sink, "libjpeg-turbo", bl_jpeg_version());
    code = code ? code : sink.code;
    if (code)
        goto out;
    code = bl_manifest_configure(m, identity, e);
out:
    if (code)
        bl_manifest_free(m);
    return code;
}

int bl_manifest_draft_publish(const struct bl_state *state, struct bl_manifest *manifest, bool alone,
                              struct bl_error *e)
{
    struct bl_buffer path = {0}, text = {0};
    bool begun = true;
    int code = bl_state_path(state, BL_STATE_DRAFT, &path, e);
    if (!code)
        code = bl_manifest_format(manifest, true, &text, e);
    if (!code && alone)
        code = bl_state_has_shards(state, &begun, e);
    if (code)
        goto out;
    if (!begun) {
        code = bl_output_replace(path.data, text.data, text.size, e);
        goto out;
    }
    code = bl_state_publish(state, BL_STATE_DRAFT, &text, e);
    if (code == BL_EDATA)
        bl_error_prefix(e, "%s was begun with other versions of bload or its libraries: use those, or another -o",
                        state->dir);
out:
    bl_buffer_free(&path);
    bl_buffer_free(&text);
    return code;
}

int bl_manifest_draft_find(const struct bl_state *state, bool *found, struct bl_error *e)
{
    struct bl_buffer path = {0};
    int code = bl_state_path(state, BL_STATE_DRAFT, &path, e);
    *found = false;
    if (!code)
        code = bl_fs_exists(path.data, found, e);
    bl_buffer_free(&path);
    return code;
}

int bl_manifest_draft_read(const struct bl_state *state, struct bl_manifest *manifest, struct bl_error *e)
{
    struct bl_buffer path = {0}, text = {0};
    bool sound = false;
    *manifest = (struct bl_manifest){0};
    int code = bl_state_path(state, BL_STATE_DRAFT, &path, e);
    bool exists = false;
    if (!code)
        code = bl_fs_exists(path.data, &exists, e);
    if (!code && !exists)
        code = bl_error_set(e, BL_EUSAGE, "%s: nothing has been packed there yet", state->dir);
    if (code)
        goto out;
    code = bl_regular_check(path.data, e);
    if (!code)
        code = bl_io_read_file(path.data, BL_MANIFEST_SIZE_MAX, &text, e);
    if (code)
        goto out;
    code = bl_manifest_parse(manifest, text.data ? text.data : "", text.size, &sound, e);
    if (code)
        goto out;
    if (!sound) {
        bl_manifest_free(manifest);
        code = bl_error_set(e, BL_EDATA, "its checksum is wrong: it is damaged, or was edited");
    }
out:
    if (code == BL_EDATA)
        bl_error_prefix(e, "%s", path.data);
    bl_buffer_free(&path);
    bl_buffer_free(&text);
    return code;
}
