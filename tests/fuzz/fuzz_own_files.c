/* Columns that name files: each line that comes of a value is one of a list of clips, and whatever a table says of the
 * files that were found, nothing outside it is read. The first byte says which of the two the rest is. */
#include <string.h>

#include "fuzz.h"
#include "kind/array/array.h"
#include "kind/list.h"
#include "kind/own/own_files.h"

/* A value: its lines are clips, or unusable ones that say why. */
static void value_try(const char *text, size_t size)
{
    struct bl_own_files files = {0};
    struct bl_error e = {0};
    int code = bl_own_files_parse(&files, text, size, &e);
    never(code && (code != BL_EDATA || !e.text[0]));
    never(files.count > size);
    for (size_t i = 0; i < files.count && !code; i++) {
        struct bl_clip clip = {0};
        struct bl_error fault = {0};
        int parsed = bl_clip_parse(&clip, files.line[i].text, files.line[i].size, &fault);
        never(parsed && parsed != BL_EDATA);
        never(!parsed && !*clip.path);
        never(files.line[i].number != (int64_t)i + 1);
        bl_clip_free(&clip);
    }
    bl_own_files_free(&files);
}

/* A column NAME.files of a table. */
static void records_try(const char *text, size_t size)
{
    const struct bl_composite_part part = {.kind = &bl_kind_array, .name = "f"};
    struct bl_buffer extra = {0};
    struct bl_error e = {0};
    bool found = true;
    int code = BL_OK;
    bl_buffer_byte(&extra, '\t');
    bl_buffer_append(&extra, text, size);
    bl_buffer_byte(&extra, '\0');
    never(bl_buffer_check(&extra, &e));
    const struct bl_row row = {.id = "id", .columns = "\tf.files", .extra = extra.data};
    struct bl_own_records records = {.source = {.part = &part, .base = "base"}, .row = &row};
    while (!code && found) {
        code = bl_own_records_next(&records, &found, &e);
        never(code && !e.text[0]);
        never(!code && found && (!records.file.path || records.file.length < 0 || records.file.stream < -1));
    }
    bl_own_records_free(&records);
    bl_buffer_free(&extra);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size && data[0] & 1)
        records_try((const char *)data + 1, size - 1);
    else if (size)
        value_try((const char *)data + 1, size - 1);
    return 0;
}
