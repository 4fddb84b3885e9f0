/* Reading, through the public interface: what was put in comes out. */
#include "base/io.h"
#include "bload.h"

#include <pthread.h>
#include <stddef.h>
#include <time.h>
#include <turbojpeg.h>

#include "sample.h"
#include "store/dataset.h"

static const struct sample_kind kinds[] = {
    {0},
    {.compressed = true},
    {.split = true, .segment_ids = true, .attributes = true},
    {.split = true, .compressed = true, .segment_ids = true, .attributes = true},
    {.split = true, .segment_ids = true, .attributes = true, .encoding = {.kind = BL_ENCODING_JPEG, .quality = 90}},
    {.split = true, .compressed = true, .encoding = {.kind = BL_ENCODING_DELTA, .quality = 0}},
    {.split = true, .compressed = true, .segment_ids = true, .attributes = true, .frame_size = 500},
    {.own = true, .split = true, .segment_ids = true, .attributes = true},
    {.own = true, .compressed = true, .frame_size = 300},
};

#define KINDS COUNT(kinds)

static struct bload_dataset *open_sample(const struct sample *s)
{
    struct bload_dataset *dataset;
    struct bload_error error;
    ck_assert_msg(bload_dataset_open(s->dir, &dataset, &error) == BLOAD_OK, "%s", error.text);
    ck_assert_str_eq(error.text, "");
    return dataset;
}

SAMPLE_LOOP(counts_and_fields_are_those_of_the_dataset, KINDS, kinds[_i])
{
    CLOSED_DATASET struct bload_dataset *dataset = open_sample(s);
    const struct bload_counts *counts = bload_dataset_counts(dataset);
    ck_assert_int_eq(counts->T, 16);
    ck_assert_int_eq(counts->S, s->plan.max_sequences + 1);
    ck_assert_int_eq(counts->blocks, (int64_t)s->plan.blocks);
    ck_assert_int_eq(counts->pieces, (int64_t)s->plan.pieces);
    ck_assert_int_eq(counts->padding, s->plan.padding);
    ck_assert_int_eq(counts->steps, s->plan.steps);
    ck_assert_double_eq_tol(counts->efficiency, bl_plan_efficiency(&s->plan), 1e-11);
    const int fields = kinds[_i].own ? 5 : 3;
    ck_assert_int_eq(bload_dataset_field_count(dataset), fields);
    ck_assert_int_eq(bload_dataset_find_field(dataset, "features"), 2);
    ck_assert_int_eq(bload_dataset_find_field(dataset, "sequence"), -1);
    const struct bload_field *field = bload_dataset_field(dataset, 0);
    ck_assert_ptr_nonnull(field);
    ck_assert_str_eq(field->name, "frames");
    ck_assert_str_eq(field->dtype, "U8");
    ck_assert_int_eq(field->rank, 4);
    ck_assert_int_eq(field->shape[0], 16);
    ck_assert_int_eq(field->shape[3], 3);
    ck_assert_uint_eq(field->block_bytes, 16 * 60);
    char name[BL_ENCODING_NAME_MAX];
    ck_assert_str_eq(field->encoding, bl_encoding_name(&kinds[_i].encoding, name));
    ck_assert_int_eq(bload_dataset_field(dataset, 1)->rank, 1);
    ck_assert_ptr_null(bload_dataset_field(dataset, fields));
    for (int f = 0; f < fields; f++)
        ck_assert_int_eq(bload_dataset_field(dataset, f)->own != 0, f > 2);
    for (int f = 3; f < fields; f++)
        ck_assert_int_eq(bload_dataset_field(dataset, f)->shape[0], s->format.fields.field[f].capacity);
    ck_assert_ptr_null(bload_dataset_field(dataset, -1));
}

/* Where frames are kept as JPEG, what comes out of a block is what the library makes of each of its steps. */
static void through_jpeg(const struct sample *s, struct bl_block *block)
{
    if (s->format.encoding[0].kind != BL_ENCODING_JPEG)
        return;
    tjhandle in = tjInitCompress(), out = tjInitDecompress();
    for (int i = 0; i < block->num_sequences; i++) {
        for (int32_t t = 0; t < block->length[i]; t++) {
            uint8_t *picture = block->field[0] + (size_t)(block->cu_seqlens[i] + t) * 60, *file = NULL;
            unsigned long size = 0;
            ck_assert_int_eq(tjCompress2(in, picture, 5, 0, 4, TJPF_RGB, &file, &size, TJSAMP_420,
                                         s->format.encoding[0].quality, TJFLAG_ACCURATEDCT),
                             0);
            ck_assert_int_eq(tjDecompress2(out, file, size, picture, 5, 0, 4, TJPF_RGB, 0), 0);
            tjFree(file);
        }
    }
    tjDestroy(in);
    tjDestroy(out);
}

SAMPLE_LOOP(blocks_and_tables_come_out_as_they_went_in, KINDS, kinds[_i])
{
    struct bload_error error;
    const struct bload_tables *tables;
    OWNED(bl_block_free) struct bl_block expected;
    CLOSED_DATASET struct bload_dataset *dataset = open_sample(s);
    size_t S = (size_t)s->format.S;
    FREED uint8_t *read = malloc(16 * 60);
    ck_assert_ptr_nonnull(read);
    ck_assert_int_eq(bl_block_make(&expected, 1, &s->format, true, &e), 0);
    for (int64_t n = 0; n < s->format.blocks; n++) {
        int64_t b = n * 11 % s->format.blocks; /* through the shards in no order */
        bl_block_plan(&expected, &s->format, &s->plan, s->length, b);
        sample_fill(s, &expected);
        through_jpeg(s, &expected);
        for (int f = 0; f < 3; f++) {
            size_t size = bl_format_block_bytes(&s->format, f);
            ck_assert_msg(bload_dataset_read_block(dataset, b, f, read, size, &error) == BLOAD_OK, "%s", error.text);
            ck_assert_int_eq(memcmp(read, expected.field[f], size), 0);
        }
        ck_assert_msg(bload_dataset_read_tables(dataset, b, &tables, &error) == BLOAD_OK, "%s", error.text);
        ck_assert_int_eq(tables->num_sequences, expected.num_sequences);
        ck_assert_int_eq(memcmp(tables->cu_seqlens, expected.cu_seqlens, (S + 1) * sizeof(int32_t)), 0);
        ck_assert_int_eq(memcmp(tables->sequence, expected.sequence, S * sizeof(int64_t)), 0);
        ck_assert_int_eq(memcmp(tables->length, expected.length, S * sizeof(int32_t)), 0);
        ck_assert_int_eq(memcmp(tables->source_start, expected.source_start, S * sizeof(int64_t)), 0);
    }
}

/* The value of each place is that of the sequence in it, 0 where there is none. */
/* However many shards stay open, and in which order they are asked for. */
SAMPLE_LOOP(shards_that_are_kept_open_are_the_same, KINDS, kinds[_i])
{
    struct bl_dataset kept, other;
    uint8_t a[16 * 60], b[16 * 60];
    for (int64_t keeps = 1; keeps <= 3; keeps++) {
        ck_assert_int_eq(bl_dataset_open(&kept, s->dir, &e), 0);
        ck_assert_int_eq(bl_dataset_open(&other, s->dir, &e), 0);
        ck_assert_int_eq(bl_dataset_keep(&kept, keeps, &e), 0);
        for (int64_t n = 0; n < 4 * s->format.blocks; n++) {
            int64_t block = n * n % s->format.blocks;
            int f = (int)(n % 3);
            ck_assert_msg(bl_dataset_read(&kept, block, f, a, &e) == 0, "%s", e.text);
            ck_assert_msg(bl_dataset_read(&other, block, f, b, &e) == 0, "%s", e.text);
            ck_assert_mem_eq(a, b, bl_format_block_bytes(&s->format, f));
        }
        ck_assert_int_eq(bl_dataset_read(&kept, s->format.blocks, 0, a, &e), BL_EUSAGE);
        bl_dataset_close(&kept);
        bl_dataset_close(&other);
    }
}

static void check_attribute(struct bload_dataset *dataset, const struct sample *s, int64_t b)
{
    const struct bload_tables *tables;
    struct bload_error error;
    size_t S = (size_t)s->format.S;
    FREED int64_t *class = calloc(S, sizeof *class);
    FREED double *weight = calloc(S, sizeof *weight);
    ck_assert(class && weight);
    ck_assert_msg(bload_dataset_read_attribute(dataset, b, 0, class, S * sizeof *class, &error) == BLOAD_OK, "%s",
                  error.text);
    ck_assert_msg(bload_dataset_read_attribute(dataset, b, 1, weight, S * sizeof *weight, &error) == BLOAD_OK, "%s",
                  error.text);
    ck_assert_int_eq(bload_dataset_read_tables(dataset, b, &tables, &error), BLOAD_OK);
    for (size_t i = 0; i < S; i++) {
        int row = (int)tables->sequence[i];
        double expected = row < 0 ? 0 : sample_weight(row);
        ck_assert_int_eq(class[i], row < 0 ? 0 : sample_class(row));
        ck_assert(isnan(expected) ? isnan(weight[i]) : weight[i] == expected);
    }
}

SAMPLE_LOOP(attributes_are_those_of_the_sequences, KINDS, kinds[_i])
{
    struct bload_error error;
    const char *text;
    int64_t none[64] = {0};
    CLOSED_DATASET struct bload_dataset *dataset = open_sample(s);
    bool has = kinds[_i].attributes;
    ck_assert_int_eq(bload_dataset_attribute_count(dataset), has ? 2 : 0);
    ck_assert_int_eq(bload_dataset_find_attribute(dataset, "weight"), has ? 1 : -1);
    ck_assert_int_eq(bload_dataset_find_attribute(dataset, "note"), -1);
    for (int64_t b = s->format.blocks; has && b-- > 0;)
        check_attribute(dataset, s, b);
    const struct bload_attribute *attribute = bload_dataset_attribute(dataset, 1);
    ck_assert_str_eq(attribute ? attribute->dtype : "none", has ? "F64" : "none");
    ck_assert_ptr_null(bload_dataset_attribute(dataset, 2));
    ck_assert_ptr_null(bload_dataset_attribute(dataset, -1));
    ck_assert_int_eq(bload_dataset_read_attribute(dataset, 0, 2, none, sizeof none, &error), BLOAD_EUSAGE);
    ck_assert_int_eq(bload_dataset_read_attribute(dataset, 0, 0, none, (size_t)s->format.S * 8 - 1, &error),
                     BLOAD_EUSAGE);
    ck_assert_int_eq(bload_dataset_read_attribute(dataset, 0, -1, none, sizeof none, &error), BLOAD_EUSAGE);
    ck_assert_int_eq(bload_dataset_read_column(dataset, 12, "note", &text, &error), has ? BLOAD_OK : BLOAD_EUSAGE);
    ck_assert_str_eq(has ? text : "note \t12", "note \t12");
    ck_assert_int_eq(bload_dataset_read_column(dataset, 12, "length", &text, &error), BLOAD_EUSAGE);
    ck_assert_ptr_null(text);
    ck_assert_int_eq(bload_dataset_read_column(dataset, SAMPLE_SEQUENCES, "note", &text, &error), BLOAD_EUSAGE);
}

/* Blocks of all shards are mapped at once, while others are read. */
SAMPLE_LOOP(blocks_are_mapped_unless_compressed, KINDS, kinds[_i])
{
    struct bload_error error;
    const void *data[64], *again = NULL;
    uint8_t read[16 * 24];
    CLOSED_DATASET struct bload_dataset *dataset = open_sample(s);
    for (int64_t b = 0; b < s->format.blocks && !s->format.compressed; b++)
        ck_assert_msg(bload_dataset_map_block(dataset, b, 2, &data[b], &error) == BLOAD_OK, "%s", error.text);
    for (int64_t b = 0; b < s->format.blocks && !s->format.compressed; b++) {
        ck_assert_uint_eq((uintptr_t)data[b] % 4, 0);
        ck_assert_int_eq(bload_dataset_read_block(dataset, b, 2, read, sizeof read, &error), BLOAD_OK);
        ck_assert_int_eq(memcmp(data[b], read, sizeof read), 0);
        ck_assert_int_eq(bload_dataset_map_block(dataset, b, 2, &again, &error), BLOAD_OK);
        ck_assert_ptr_eq(again, data[b]);
    }
    ck_assert_int_eq(bload_dataset_map_block(dataset, s->format.blocks, 2, &again, &error), BLOAD_EUSAGE);
    ck_assert_ptr_null(again);
    if (s->format.compressed)
        ck_assert_int_eq(bload_dataset_map_block(dataset, 0, 2, &again, &error), BLOAD_EUSAGE);
    if (kinds[_i].encoding.kind != BL_ENCODING_RAW) {
        ck_assert_int_eq(bload_dataset_map_block(dataset, 0, 0, &again, &error), BLOAD_EUSAGE);
        ck_assert_ptr_nonnull(strstr(error.text, "frames is encoded"));
    }
    ck_assert_ptr_null(again);
}

SAMPLE_LOOP(the_plan_is_read_back, KINDS, kinds[_i])
{
    struct bload_error error;
    FREED_PLAN struct bload_plan *plan;
    struct bload_dataset *dataset = open_sample(s);
    ck_assert_msg(bload_dataset_plan(dataset, &plan, &error) == BLOAD_OK, "%s", error.text);
    bload_dataset_close(dataset);
    const struct bload_counts *counts = bload_plan_counts(plan);
    ck_assert_int_eq(counts->blocks, (int64_t)s->plan.blocks);
    ck_assert_int_eq(counts->cut, s->plan.cut);
    for (size_t b = 0, p = 0; b < s->plan.blocks; b++) {
        int32_t start = 0;
        struct bload_piece piece[64];
        int64_t count = bload_plan_piece_count(plan, (int64_t)b);
        ck_assert_int_eq(count, s->plan.block_ptr[b + 1] - s->plan.block_ptr[b]);
        ck_assert_int_le(count, counts->S);
        ck_assert_int_eq(bload_plan_pieces(plan, (int64_t)b, piece, 64, &error), BLOAD_OK);
        for (int64_t i = 0; i < count; i++, p++) {
            ck_assert_int_eq(piece[i].sequence, s->plan.sequence[p]);
            ck_assert_int_eq(piece[i].length, bl_plan_piece_length(&s->plan, s->length, p));
            ck_assert_int_eq(piece[i].source_start, s->plan.source_start ? s->plan.source_start[p] : 0);
            ck_assert_int_eq(piece[i].start, start);
            start += piece[i].length;
        }
    }
}

SAMPLE_TEST(rows_are_read_back, kinds[0])
{
    struct bload_error error;
    const struct bload_row *row;
    int64_t rows;
    CLOSED_DATASET struct bload_dataset *dataset = open_sample(s);
    ck_assert_int_eq(bload_dataset_row_count(dataset, &rows, &error), BLOAD_OK);
    ck_assert_int_eq(rows, SAMPLE_SEQUENCES);
    ck_assert_int_eq(bload_dataset_read_row(dataset, SAMPLE_FAILED, &row, &error), BLOAD_OK);
    ck_assert_str_eq(row->id, "clip 7.mp4");
    ck_assert_str_eq(row->status, "failed");
    ck_assert_str_eq(row->reason, "9 frames decode, the scan counted 4");
    ck_assert_int_eq(row->length, s->length[SAMPLE_FAILED]);
    ck_assert_int_eq(bload_dataset_read_row(dataset, rows, &row, &error), BLOAD_EUSAGE);
    ck_assert_int_eq(bload_dataset_read_row(dataset, -1, &row, &error), BLOAD_EUSAGE);
    ck_assert_ptr_null(row);
}

SAMPLE_LOOP(what_is_not_there_is_refused, KINDS, kinds[_i])
{
    struct bload_error error;
    const struct bload_tables *tables;
    struct bload_dataset *dataset, *none;
    uint8_t out[16 * 60];
    char command[160];
    dataset = open_sample(s);
    ck_assert_int_eq(bload_dataset_read_block(dataset, s->format.blocks, 0, out, sizeof out, &error), BLOAD_EUSAGE);
    ck_assert_int_eq(bload_dataset_read_block(dataset, -1, 0, out, sizeof out, &error), BLOAD_EUSAGE);
    ck_assert_int_eq(bload_dataset_read_block(dataset, 0, s->format.fields.count, out, sizeof out, &error),
                     BLOAD_EUSAGE);
    ck_assert_int_eq(bload_dataset_read_block(dataset, 0, -1, out, sizeof out, NULL), BLOAD_EUSAGE);
    ck_assert_int_eq(bload_dataset_read_block(dataset, 0, 0, out, sizeof out - 1, &error), BLOAD_EUSAGE);
    ck_assert_str_eq(error.text, "the result has 960 bytes, out only 959");
    ck_assert_int_eq(bload_dataset_read_tables(dataset, s->format.blocks, &tables, &error), BLOAD_EUSAGE);
    ck_assert_ptr_null(tables);
    snprintf(command, sizeof command, "rm %s/shards/00000/shard-00000001*", s->dir);
    ck_assert_int_eq(system(command), 0);
    ck_assert_int_eq(bload_dataset_read_block(dataset, 0, 0, out, sizeof out, &error), BLOAD_OK);
    ck_assert_int_eq(bload_dataset_read_block(dataset, s->format.blocks_per_shard, 0, out, sizeof out, &error),
                     BLOAD_EFAIL);
    ck_assert_ptr_nonnull(strstr(error.text, "shard-00000001"));
    ck_assert_int_eq(bload_dataset_read_block(dataset, 0, 0, out, sizeof out, &error), BLOAD_OK);
    bload_dataset_close(dataset);
    snprintf(command, sizeof command, "rm %s/manifest.json", s->dir);
    ck_assert_int_eq(system(command), 0);
    ck_assert_int_eq(bload_dataset_open(s->dir, &none, &error), BLOAD_EUSAGE);
    ck_assert_ptr_nonnull(strstr(error.text, "not a finished dataset"));
    ck_assert_ptr_null(none);
    bload_dataset_close(none);
}

/* --- the manifest ----------------------------------------------------------------------------------------------- */

static void same_fields(const struct bl_fields *a, const struct bl_fields *b)
{
    ck_assert_int_eq(a->count, b->count);
    for (int f = 0; f < a->count; f++) {
        const struct bl_field *x = &a->field[f], *y = &b->field[f];
        ck_assert_str_eq(x->name, y->name);
        ck_assert_str_eq(x->kind, y->kind);
        ck_assert_int_eq(x->dtype, y->dtype);
        ck_assert_int_eq(x->rank, y->rank);
        for (int i = 0; i < x->rank; i++)
            ck_assert_int_eq(x->shape[i], y->shape[i]);
    }
}

SAMPLE_LOOP(a_manifest_is_read_back, KINDS, kinds[_i])
{
    OWNED(bl_manifest_free) struct bl_manifest m;
    ck_assert_msg(bl_manifest_read(&m, s->dir, &e) == 0, "%s", e.text);
    ck_assert_str_eq(m.tool, "0.0.0");
    ck_assert_str_eq(m.simd, "avx2");
    ck_assert_str_eq(m.made[0], "size 5x4");
    ck_assert_str_eq(m.made[2], "");
    ck_assert_str_eq(m.plan_info.strategy, "block");
    ck_assert_uint_eq(m.plan_info.seed, 3);
    ck_assert_int_eq(m.failed_steps, s->length[SAMPLE_FAILED]);
    ck_assert_int_eq(m.format.compressed, s->format.compressed);
    ck_assert_int_eq(m.format.level, s->format.compressed ? 3 : 0);
    ck_assert_uint_eq(m.format.frame_size, s->format.frame_size);
    ck_assert_int_eq(m.format.has_source_start, s->format.has_source_start);
    ck_assert_int_eq(m.format.blocks_per_shard, s->format.blocks_per_shard);
    ck_assert_str_eq(m.format.plan_digest, s->format.plan_digest);
    same_fields(&m.format.fields, &s->format.fields);
    ck_assert_uint_eq(m.configuration.count, 3);
    ck_assert_str_eq(m.configuration.pair[2].name, "odd");
    ck_assert_str_eq(m.configuration.pair[2].value, "a\tb\xff");
    ck_assert_str_eq(m.libraries.pair[0].value, "1.2.3");
    ck_assert_uint_eq(m.files, 3);
}

/* The sample's manifest as text. */
static void slurp(const struct sample *s, struct bl_buffer *text)
{
    char path[128];
    snprintf(path, sizeof path, "%s/manifest.json", s->dir);
    ck_assert_int_eq(bl_io_read_file(path, 1 << 20, text, NULL), 0);
}

SAMPLE_TEST(any_changed_character_of_a_manifest_is_noticed, kinds[2])
{
    OWNED(bl_buffer_free) struct bl_buffer text = {0};
    slurp(s, &text);
    for (size_t at = 0; at < text.size; at++) {
        struct bl_manifest m;
        bl_error_clear(&e);
        bool sound = true;
        char was = text.data[at];
        text.data[at] = was == '1' ? '2' : '1';
        int code = bl_manifest_parse(&m, text.data, text.size, &sound, &e);
        ck_assert_msg(code == BL_EDATA || (code == 0 && !sound), "character %zu: %d", at, code);
        if (!code)
            bl_manifest_free(&m);
        text.data[at] = was;
    }
}

/* Members replaced by what cannot be, and a word of the complaint. */
static const struct {
    const char *from, *to, *complaint;
} wrong[] = {
    {"\"format\": 1", "\"format\": 7", "version 7"},
    {"\"format\": 1", "\"format\": 5", "format 5 without context parallelism"},
    {"\"deleted\"", "\"cp\": 2, \"deleted\"", "format 1 with context parallelism"},
    {"\"deleted\"", "\"cp\": 0, \"deleted\"", "\"cp\""},
    {"\"deleted\"", "\"cp\": 3, \"deleted\"", "T = 16 is not a multiple of 6"},
    {"\"T\": 16", "\"T\": 0", "\"T\""},
    {"\"T\": 16", "\"T\": 4294967296", "T = 4294967296"},
    {"\"blocks\": 28", "\"blocks\": \"28\"", "\"blocks\""},
    {"\"blocks_per_shard\": 4", "\"blocks_per_shard\": 0", "blocks_per_shard"},
    {"\"S\": 4", "\"S\": -1", "\"S\""},
    {"\"seed\": 3", "\"seed\": -3", "seed"},
    {"\"seed\": 3", "\"seed\": \"3x\"", "seed"},
    {"\"efficiency\": 0", "\"efficiency\": 1", "efficiency"},
    {"\"strategy\": \"block\"", "\"strategy\": \"a very long strategy\"", "strategy"},
    {"\"dtype\": \"U8\"", "\"dtype\": \"U9\"", "dtype"},
    {"\"name\": \"frames\"", "\"name\": \"labels\"", "taken"},
    {"\"compress\": null", "\"compress\": \"lz4\"", "compress"},
    {"\"compress\": null", "\"compress\": null, \"frame_size\": 500", "only compressed shards have frames"},
    {"\"compress\": null", "\"compress\": \"zstd:3\", \"frame_size\": 67108865", "frame_size"},
    {"\"compress\": null", "\"compress\": \"zstd:3\", \"frame_size\": 0", "frame_size"},
    {"\"source_start\": true", "\"source_start\": 1", "source_start"},
    {"\"name\": \"index.safetensors\"", "\"name\": \"../../etc/passwd\"", "not a path within the dataset"},
    {"\"skipped\": 1", "\"skiped\": 1", "skipped"},
    {"\"skipped\": 1", "\"skipped\": 1, \"counts\": [1]", "\"counts\" is not an object"},
    {"\"skipped\": 1", "\"skipped\": 1, \"counts\": {\"a\": 1, \"b\": -1}", "\"b\" is not a number of sequences"},
    {"\"skipped\": 1", "\"skipped\": 1, \"counts\": {\"a\": \"1\"}", "\"a\" is not a number of sequences"},
    {"\"fields\"", "\"felder\"", "fields"},
    {"\"simd\": \"avx2\"", "\"simd\": \"avx2\",\"simd\": \"avx2\"", "duplicate"},
    {"\"encoding\": \"raw\"", "\"encoding\": \"h265\"", "encoding"},
};

SAMPLE_LOOP(a_manifest_that_cannot_be_is_refused, COUNT(wrong), kinds[2])
{
    OWNED(bl_buffer_free) struct bl_buffer text = {0}, changed = {0};
    struct bl_manifest m;
    bool sound;
    slurp(s, &text);
    const char *at = strstr(text.data, wrong[_i].from);
    ck_assert_msg(at != NULL, "%s", wrong[_i].from);
    bl_buffer_append(&changed, text.data, (size_t)(at - text.data));
    bl_buffer_text(&changed, wrong[_i].to);
    bl_buffer_text(&changed, at + strlen(wrong[_i].from));
    FAILS_WITH(bl_manifest_parse(&m, changed.data, changed.size, &sound, &e), BL_EDATA, wrong[_i].complaint);
}

SAMPLE_TEST(a_field_without_a_word_on_its_encoding_is_raw, kinds[2])
{
    OWNED(bl_buffer_free) struct bl_buffer text = {0};
    OWNED(bl_manifest_free) struct bl_manifest m;
    bool sound;
    slurp(s, &text);
    for (char *at = text.data; (at = strstr(at, "\"encoding\"")); at++)
        at[1] = 'E'; /* a name that nobody asks for */
    ck_assert_msg(bl_manifest_parse(&m, text.data, text.size, &sound, &e) == BL_OK, "%s", e.text);
    ck_assert_int_eq(m.format.encoding[0].kind, BL_ENCODING_RAW);
}

SAMPLE_TEST(large_seeds_survive_json, kinds[0])
{
    struct bl_manifest m;
    static const uint64_t seeds[] = {0, INT64_MAX, (uint64_t)INT64_MAX + 1, UINT64_MAX};
    for (size_t i = 0; i < COUNT(seeds); i++) {
        s->options.seed = seeds[i];
        sample_manifest(s);
        ck_assert_int_eq(bl_manifest_read(&m, s->dir, &e), 0);
        ck_assert_uint_eq(m.plan_info.seed, seeds[i]);
        bl_manifest_free(&m);
    }
}

/* --- planning --------------------------------------------------------------------------------------------------- */

#define SIZE (sizeof(struct bload_plan_options))

UNIT_TEST(a_plan_is_made_of_lengths)
{
    int64_t length[] = {5, 3, 8, 2, 6, 0};
    struct bload_plan_options options = {.size = SIZE, .T = 8, .seed = 1};
    FREED_PLAN struct bload_plan *plan;
    struct bload_error error;
    struct bload_piece piece[5];
    ck_assert_msg(bload_plan_make(length, 6, &options, &plan, &error) == BLOAD_OK, "%s", error.text);
    memset(length, 0, sizeof length); /* not needed any more */
    const struct bload_counts *counts = bload_plan_counts(plan);
    ck_assert_int_eq(counts->blocks, 3);
    ck_assert_int_eq(counts->padding, 0);
    ck_assert_int_eq(counts->sequences, 5);
    int64_t steps = 0;
    for (int64_t b = 0; b < counts->blocks; b++) {
        int64_t count = bload_plan_piece_count(plan, b);
        ck_assert_int_eq(bload_plan_pieces(plan, b, piece, count - 1, &error), BLOAD_EUSAGE);
        ck_assert_int_eq(bload_plan_pieces(plan, b, piece, count, &error), BLOAD_OK);
        for (int64_t i = 0; i < count; i++)
            steps += piece[i].length;
    }
    ck_assert_int_eq(steps, 24);
    ck_assert_int_eq(bload_plan_piece_count(plan, 3), -1);
    ck_assert_int_eq(bload_plan_pieces(plan, 3, piece, 5, &error), BLOAD_EUSAGE);
}

/* The counts of a plan of these lengths, which is made, or not, with the code. */
static struct bload_counts planned(const int64_t *length, size_t count, const struct bload_plan_options *options,
                                   int code)
{
    FREED_PLAN struct bload_plan *plan;
    struct bload_error error;
    struct bload_counts counts = {0};
    ck_assert_int_eq(bload_plan_make(length, count, options, &plan, &error), code);
    ck_assert(!plan == (code != BLOAD_OK));
    if (plan)
        counts = *bload_plan_counts(plan);
    return counts;
}

UNIT_TEST(columns_have_maxima)
{
    static const int64_t length[] = {1, 1, 1, 1, 1};
    static const double pictures[] = {3, 1, 2, 4, 0}, seconds[] = {0.1, 0.2, 0.3, 0.5, 0.5};
    struct bload_max_column columns[] = {{5, pictures}, {0.6, seconds}}, large[] = {{5, pictures}, {0.4, seconds}},
                            none[] = {{5, pictures}, {0.4, NULL}};
    struct bload_plan_options one = {.size = SIZE, .T = 9, .max_columns = 1, .max_column = columns},
                              two = {.size = SIZE, .T = 9, .max_columns = 2, .max_column = columns};
    struct bload_counts counts = planned(length, 5, &one, BLOAD_OK);
    ck_assert_int_eq(counts.blocks, 2);
    ck_assert_int_eq(counts.lower_bound, 2);
    ck_assert_int_eq(planned(length, 5, &two, BLOAD_OK).blocks, 3);
    struct bload_plan *plan;
    struct bload_error error;
    two.max_column = large;
    ck_assert_int_eq(bload_plan_make(length, 5, &two, &plan, &error), BLOAD_EUSAGE);
    ck_assert_msg(strstr(error.text, "sequence 3 alone has 0.5 column 1") != NULL, "%s", error.text);
    const struct bload_plan_options bad[] = {
        {.size = SIZE, .T = 9, .max_columns = 2, .max_column = none},
        {.size = SIZE, .T = 9, .max_columns = BLOAD_MAX_COLUMNS_MAX + 1, .max_column = none},
        {.size = SIZE, .T = 9, .max_columns = 1, .max_column = NULL},
        {.size = SIZE, .T = 9, .fill = BLOAD_FILL_PAPER, .max_columns = 1, .max_column = columns},
    };
    for (size_t i = 0; i < COUNT(bad); i++)
        planned(length, 5, &bad[i], BLOAD_EUSAGE);
}

/* Programs of an older header say a smaller size, those of a newer one a larger size. */
UNIT_TEST(options_have_a_size)
{
    static const int64_t length[] = {5, 3, 8, 2, 6};
    struct {
        struct bload_plan_options known;
        int64_t later;
    } options = {.known = {.T = 8}};
    struct bload_plan *plan;
    struct bload_error error;
    static const size_t oldest = offsetof(struct bload_plan_options, cancel);
    const size_t too_small[] = {0, 1, oldest - 1};
    for (size_t i = 0; i < COUNT(too_small); i++) {
        options.known.size = too_small[i];
        ck_assert_int_eq(bload_plan_make(length, 5, &options.known, &plan, &error), BLOAD_EUSAGE);
        ck_assert_ptr_nonnull(strstr(error.text, "set it to sizeof(struct bload_plan_options)"));
    }
    options.known.size = oldest;
    ck_assert_int_eq(planned(length, 5, &options.known, BLOAD_OK).blocks, 3);
    options.known.size = sizeof options;
    ck_assert_int_eq(planned(length, 5, &options.known, BLOAD_OK).blocks, 3);
    options.later = 1;
    ck_assert_int_eq(bload_plan_make(length, 5, &options.known, &plan, &error), BLOAD_EUSAGE);
    ck_assert_ptr_nonnull(strstr(error.text, "members that version " BLOAD_VERSION " does not know"));
}

UNIT_TEST(one_call_copies_all_pieces)
{
    static const int64_t length[] = {5, 3, 21, 2, 6, 0, 1};
    static const struct bload_plan_options each[] = {
        {.size = SIZE, .T = 24},
        {.size = SIZE, .T = 8, .oversize = BLOAD_OVERSIZE_SPLIT, .overlap = 2, .align = 4, .seed = 3},
        {.size = SIZE, .T = 8, .strategy = BLOAD_STRATEGY_STORE},
        {.size = SIZE, .T = 24, .world_size = 7, .remainder = BLOAD_REMAINDER_PAD},
    };
    for (size_t o = 0; o < COUNT(each); o++) {
        FREED_PLAN struct bload_plan *plan;
        int64_t block_ptr[20], sequence[20], source_start[20], again[20];
        int32_t start[20], steps[20];
        ck_assert_int_eq(bload_plan_make(length, COUNT(length), &each[o], &plan, NULL), BLOAD_OK);
        const struct bload_counts *counts = bload_plan_counts(plan);
        bload_plan_copy(plan, block_ptr, sequence, start, steps, source_start);
        ck_assert_int_eq(block_ptr[0], 0);
        ck_assert_int_eq(block_ptr[counts->blocks], counts->pieces);
        for (int64_t b = 0; b < counts->blocks; b++) {
            struct bload_piece piece[8];
            ck_assert_int_eq(block_ptr[b + 1] - block_ptr[b], bload_plan_piece_count(plan, b));
            ck_assert_int_eq(bload_plan_pieces(plan, b, piece, 8, NULL), BLOAD_OK);
            for (int64_t i = 0, p = block_ptr[b]; p < block_ptr[b + 1]; i++, p++) {
                ck_assert_int_eq(piece[i].sequence, sequence[p]);
                ck_assert_int_eq(piece[i].start, start[p]);
                ck_assert_int_eq(piece[i].length, steps[p]);
                ck_assert_int_eq(piece[i].source_start, source_start[p]);
            }
        }
        bload_plan_copy(plan, NULL, again, NULL, NULL, NULL);
        ck_assert_mem_eq(again, sequence, (size_t)counts->pieces * sizeof *again);
    }
}

/* Sets the number after a while. */
static void *cancel_later(void *cancel)
{
    nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
    __atomic_store_n((int *)cancel, 1, __ATOMIC_RELAXED);
    return NULL;
}

/* With this effort, the search for the last block takes minutes. The limit is wide for machines with other work, and
 * for valgrind. */
#define SECONDS_MOST 10

UNIT_TEST(another_thread_cancels_a_plan)
{
    static int64_t length[3000];
    int cancel = 0;
    struct bload_plan_options options = {.size = SIZE, .T = 10000, .effort = 1000, .cancel = &cancel};
    struct bload_plan *plan;
    struct bload_error error;
    struct timespec begin, end;
    pthread_t thread;
    for (size_t i = 0; i < COUNT(length); i++)
        length[i] = 2001 + (int64_t)((i * 2654435761 >> 8) % 2999);
    ck_assert_int_eq(pthread_create(&thread, NULL, cancel_later, &cancel), 0);
    clock_gettime(CLOCK_MONOTONIC, &begin);
    ck_assert_int_eq(bload_plan_make(length, COUNT(length), &options, &plan, &error), BLOAD_ECANCEL);
    clock_gettime(CLOCK_MONOTONIC, &end);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert_ptr_null(plan);
    ck_assert_str_eq(error.text, "cancelled");
    double seconds = (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) / 1e9;
    ck_assert_msg(seconds < SECONDS_MOST, "%g s", seconds);
}

UNIT_TEST(every_strategy_and_every_error_of_planning)
{
    static const int64_t length[] = {5, 3, 8, 2, 6}, split[] = {9, 2};
    struct bload_plan_options o = {.size = SIZE, .strategy = BLOAD_STRATEGY_NAIVE};
    ck_assert_int_eq(planned(length, 5, &o, BLOAD_OK).blocks, 5);
    o = (struct bload_plan_options){.size = SIZE, .strategy = BLOAD_STRATEGY_MIX, .clip = 3};
    ck_assert_int_eq(planned(length, 5, &o, BLOAD_OK).T, 3);
    o = (struct bload_plan_options){.size = SIZE, .T = 4};
    planned(length, 5, &o, BLOAD_EFAIL);
    o.oversize = BLOAD_OVERSIZE_DROP;
    ck_assert_int_eq(planned(length, 5, &o, BLOAD_OK).deleted, 19);
    o.oversize = BLOAD_OVERSIZE_SPLIT;
    o.overlap = 3;
    struct bload_counts counts = planned(split, 2, &o, BLOAD_OK);
    ck_assert_int_eq(counts.overlap, 3);
    ck_assert_int_eq(counts.repeated, 15);
    ck_assert_int_eq(counts.blocks * counts.T, counts.steps + counts.repeated + counts.padding);
    static const struct bload_plan_options bad[] = {
        {.size = SIZE, .T = 4, .oversize = BLOAD_OVERSIZE_SPLIT, .overlap = 4},
        {.size = SIZE, .T = 4, .oversize = BLOAD_OVERSIZE_SPLIT, .overlap = -1},
        {.size = SIZE, .T = 4, .overlap = 1},
        {.size = SIZE, .T = -1, .overlap = 1},
        {.size = SIZE, .strategy = (enum bload_strategy)9},
    };
    struct bload_plan *plan;
    for (size_t i = 0; i < COUNT(bad); i++) {
        planned(length, 5, &bad[i], BLOAD_EUSAGE);
        ck_assert_int_eq(bload_plan_make(length, 5, &bad[i], &plan, NULL), BLOAD_EUSAGE);
    }
    planned(length, 5, NULL, BLOAD_OK); /* T: the longest */
    ck_assert_str_eq(bload_version(), BLOAD_VERSION);
}
