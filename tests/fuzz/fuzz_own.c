/* Files with own fields: whatever shards, plans, and places of views say, nothing outside them is read, and what is
 * refused is told. The first byte says which file the rest is: a whole shard, its tensors behind a header that is
 * right, a binary plan, rows.safetensors of a view, or the rows of plan.tsv. */
#include <string.h>

#include "fuzz.h"
#include "store/dataset.h"
#include "store/format.h"
#include "store/index.h"
#include "store/places.h"
#include "store/plan_table.h"

#define STEPS 4
#define CAPACITY 5

static const struct bl_format format = {
    .T = STEPS,
    .S = 2,
    .blocks = 3,
    .blocks_per_shard = 3,
    .plan_digest = "0123456789abcdef",
    .fields = {.count = 3,
               .field = {{.name = "array", .kind = "array", .dtype = BL_U8},
                         {.name = "text", .kind = "text", .dtype = BL_I32, .own = true, .capacity = CAPACITY},
                         {.name = "patches",
                          .kind = "array",
                          .dtype = BL_F32,
                          .rank = 1,
                          .shape = {2},
                          .own = true,
                          .flat = true,
                          .capacity = CAPACITY}}}};

/* Appends the header that goes with so many bytes of tensors, and those. */
static void shard_append(const uint8_t *data, size_t size, struct bl_buffer *out)
{
    struct bl_layout layout;
    struct bl_error e = {0};
    never(bl_layout_make(&layout, &format, 0, &e));
    int64_t fixed = layout.file_size - (int64_t)layout.header.size, step = 8;
    const int64_t steps[BL_FIELDS_MAX] = {[2] = (int64_t)size > fixed ? ((int64_t)size - fixed) / step : 0};
    never(bl_layout_resolve(&layout, &format, steps, &e));
    bl_buffer_append(out, layout.header.data, layout.header.size);
    bl_buffer_append(out, data, size);
    bl_layout_free(&layout);
}

static void shard_try(const char *path)
{
    struct bl_dataset dataset = {.shard = 0, .index.fd = -1, .file.fd = -1, .manifest.format = format};
    float out[CAPACITY * 2];
    const struct bl_block *tables;
    struct bl_error e = {0};
    dataset.dir = strdup("fuzz");
    dataset.layout = calloc(1, sizeof *dataset.layout);
    int code = dataset.dir && dataset.layout ? bl_shard_reader_open(&dataset.file, path, false, &e) : BL_EFAIL;
    if (!code)
        code = bl_shard_reader_layout(&dataset.file, &format, 0, dataset.layout, &e);
    if (!code)
        code = bl_block_make(&dataset.block, 1, &format, false, &e);
    never(code && !e.text[0]);
    for (int64_t b = 0; b < format.blocks && !code; b++) {
        for (int f = 0; f < format.fields.count; f++) {
            bl_error_clear(&e);
            never(bl_dataset_read(&dataset, b, f, out, &e) && !e.text[0]);
            bl_error_clear(&e);
            never(bl_dataset_read_steps(&dataset, b, f, 1, 3, out, &e) && !e.text[0]);
        }
        bl_error_clear(&e);
        never(bl_dataset_tables(&dataset, b, &tables, &e) && !e.text[0]);
    }
    bl_dataset_close(&dataset);
}

static void places_ask(const struct bl_places *places, int64_t rows)
{
    for (int64_t row = -1; row <= rows; row++) {
        (void)bl_places_steps(places, row);
        for (int k = 0; k < places->owns; k++) {
            const struct bl_own_place own = bl_places_own(places, row, k);
            never(own.length < 0 || own.start < 0);
        }
    }
}

static void plan_try(const char *path)
{
    struct bl_index index;
    struct bl_plan plan = {0};
    struct bl_places places;
    struct bl_error e = {0};
    const int64_t first_row[] = {0, 6};
    if (bl_index_open_plan(&index, path, &e)) {
        never(!e.text[0]);
        return;
    }
    int code = bl_index_read_plan(&index, 12, 0, &plan, &e);
    never(code && !e.text[0]);
    for (int f = 0; f < plan.own.count && !code; f++) {
        for (size_t p = 0; p < plan.pieces; p++)
            never(bl_plan_own_length(&plan, f, p) < 0 || bl_plan_own_length(&plan, f, p) > plan.own.field[f].capacity);
    }
    bl_plan_free(&plan);
    bl_error_clear(&e);
    code = bl_places_collect(&places, &index, first_row, 1, &index.own, &e);
    never(code && !e.text[0]);
    if (!code)
        places_ask(&places, first_row[1]);
    bl_places_free(&places);
    bl_index_close(&index);
}

static char folder[] = "/tmp/bload-fuzz-XXXXXX";
static char rows_path[64];

static void clean(void)
{
    unlink(rows_path);
    rmdir(folder);
}

static void rows_try(const uint8_t *data, size_t size)
{
    struct bl_manifest manifest = {.rows = 6, .format = format};
    struct bl_places places;
    struct bl_error e = {0};
    never(!*rows_path && (!mkdtemp(folder) || snprintf(rows_path, sizeof rows_path, "%s/" BL_PLACES_FILE, folder) < 0 ||
                          atexit(clean)));
    FILE *file = fopen(rows_path, "wb");
    never(!file || fwrite(data, 1, size, file) != size || fclose(file));
    int code = bl_places_open(&places, folder, &manifest, &e);
    never(code && !e.text[0]);
    if (!code)
        places_ask(&places, manifest.rows);
    bl_places_free(&places);
}

static void table_try(const uint8_t *data, size_t size, struct bl_buffer *text)
{
    static const int64_t length[] = {5, 9, 0, 3, 7, 12};
    static const double steps[] = {4, 0, 0, 2, 1, 1e300}, more[] = {1, 1, 1, 0, 2, 2};
    const struct bl_plan_own own = {2,
                                    {{.name = "text", .capacity = CAPACITY, .length = steps},
                                     {.name = "patches", .capacity = CAPACITY, .length = more}}};
    char path[64];
    struct bl_plan plan;
    struct bl_error e = {0};
    bl_buffer_append(text, BL_PLAN_TABLE_HEADER, strlen(BL_PLAN_TABLE_HEADER) - 1);
    bl_buffer_text(text, "\ttext.start\ttext.length\tpatches.start\tpatches.length\n");
    bl_buffer_append(text, data, size);
    int fd = fuzz_file((const uint8_t *)text->data, text->size, path);
    int code = bl_plan_table_read(&plan, path, 12, 1, 0, &own, length, 6, &e);
    never(code && !e.text[0]);
    if (!code) {
        never(plan.own.field[0].highest > CAPACITY || plan.own.field[1].highest > CAPACITY);
        bl_plan_free(&plan);
    }
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bl_buffer text = {0};
    char path[64];
    if (!size)
        return 0;
    const int way = data[0] % 5;
    data++, size--;
    if (way == 1)
        shard_append(data, size, &text);
    int fd = way == 1 ? fuzz_file((const uint8_t *)text.data, text.size, path) : fuzz_file(data, size, path);
    if (way < 2)
        shard_try(path);
    else if (way == 2)
        plan_try(path);
    else if (way == 3)
        rows_try(data, size);
    else
        table_try(data, size, &text);
    close(fd);
    bl_buffer_free(&text);
    return 0;
}
