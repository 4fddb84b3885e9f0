#include "packing/input_set.h"

#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "store/columns.h"
#include "store/sequences.h"

void bl_input_set_free(struct bl_input_set *set)
{
    bl_attributes_close(set->attributes);
    bl_exclusion_close(set->exclusion);
    bl_files_free(&set->files);
    bl_buffer_free(&set->fields_identity);
}

bool bl_input_set_has_stdin(const struct bl_input_set *set)
{
    for (size_t i = 0; i < set->files.count; i++) {
        if (strcmp(set->files.file[i].path, "-") == 0)
            return true;
    }
    return false;
}

/* The further columns of lists, which are the last ones, must not be among those of the scan before them. */
static int input_set_check_clips(const struct bl_input_set *set, const char *header, struct bl_error *e)
{
    int columns = 1;
    for (const char *tab = header; (tab = strchr(tab, '\t')); tab++)
        columns++;
    for (size_t c = 0; c < set->files.clips.count; c++) {
        const char *name = set->files.clips.name[c];
        if (bl_columns_find(header, name) < columns - (int)set->files.clips.count)
            return bl_error_set(e, BL_EUSAGE,
                                "the column \"%s\" of a list of clips: the scan has one of that name: rename "
                                "it",
                                name);
    }
    return BL_OK;
}

int bl_input_set_header(const struct bl_input_set *set, struct bl_buffer *header, struct bl_error *e)
{
    bl_buffer_text(header, BL_SEQUENCES_COLUMNS);
    bl_files_columns(&set->files, set->kind, set->kind_config, header);
    int code = bl_buffer_check(header, e);
    if (!code)
        code = input_set_check_clips(set, header->data, e);
    if (code || !set->attributes)
        return code;
    for (int c = 0; c < bl_attributes_count(set->attributes); c++) {
        const char *name = bl_attributes_name(set->attributes, c);
        if (bl_columns_find(header->data, name) >= 0)
            return bl_error_set(e, BL_EUSAGE,
                                "%s: the scan already has a column \"%s\": rename it, or leave it out with "
                                "--attributes-columns",
                                bl_attributes_path(set->attributes), name);
    }
    bl_attributes_columns(set->attributes, header);
    return bl_buffer_check(header, e);
}

int bl_input_set_attributes(const struct bl_input_set *set, const char *name[BL_INPUT_SET_ATTRIBUTES_MAX], int *kept)
{
    int count = 0;
    const char *number;
    while (set->kind && set->kind->scan && set->kind->scan->number && count < BL_JSON_KEYS_MAX &&
           (number = set->kind->scan->number(set->kind_config, count)))
        name[count++] = number;
    *kept = count;
    for (size_t c = 0; c < set->files.clips.count; c++)
        name[count++] = set->files.clips.name[c];
    for (int c = 0; set->attributes && c < bl_attributes_count(set->attributes); c++)
        name[count++] = bl_attributes_name(set->attributes, c);
    return count;
}

static int input_set_add_path(void *files, const char *path, struct bl_error *e)
{
    return bl_files_add(files, path, 0, NULL, false, e);
}

int bl_input_set_list_table(struct bl_input_set *set, const struct bl_sequences *sequences, struct bl_error *e)
{
    return bl_sequence_paths_visit(sequences, input_set_add_path, &set->files, e);
}

int bl_input_set_unused(const struct bl_input_set *set, struct bl_buffer *text, struct bl_error *e)
{
    char a[BL_PLURAL_SIZE];
    const char *id = "";
    int64_t line = 0, unused = set->attributes ? bl_attributes_unused(set->attributes, &id, &line) : 0;
    if (unused)
        bl_buffer_printf(text, "%s: %s to no sequence, the first in line %" PRId64 " (\"%s\")",
                         bl_attributes_path(set->attributes), bl_text_plural(a, unused, "row belongs|rows belong"),
                         line, id);
    return bl_buffer_check(text, e);
}

void bl_input_set_unmatched(const struct bl_input_set *set, struct bl_buffer *text)
{
    if (set->exclusion)
        bl_exclusion_append_unused(set->exclusion, text);
}
