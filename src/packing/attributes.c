/* Attributes of a pack: which columns hold numbers, and their values. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "packing/internal.h"

/* "weight F64 (2 empty values are NaN)"; "split is text". */
static void attribute_describe(struct bl_packing *p, const char *name, const struct bl_column_type *sort)
{
    struct bl_buffer *out = &p->attributes_text;
    char a[32];
    bl_buffer_printf(out, "%s%s ", out->size ? ", " : "", name);
    if (sort->numeric)
        bl_buffer_text(out, bl_dtype_name(sort->dtype));
    else if (sort->row == SIZE_MAX)
        bl_buffer_text(out, "is empty, so it is in sequences.tsv alone");
    else
        bl_buffer_printf(out, "is text (row %zu), so it is in sequences.tsv alone", sort->row);
    if (sort->numeric && sort->empty)
        bl_buffer_printf(out, " (%s empty: NaN)", bl_text_count(a, sort->empty));
}

static int attribute_add(struct bl_format *format, const char *name, enum bl_dtype dtype, struct bl_error *e)
{
    if (format->attributes == BL_ATTRIBUTES_MAX)
        return bl_error_set(e, BL_EUSAGE,
                            "more than %d columns of numbers: choose some with --attributes-columns or --keep",
                            BL_ATTRIBUTES_MAX);
    struct bl_attribute *attribute = &format->attribute[format->attributes++];
    snprintf(attribute->name, sizeof attribute->name, "%s", name); /* the limit on its length: see scan/attributes.c */
    attribute->dtype = dtype;
    return BL_OK;
}

/* Fields that depend on files are not known yet; bl_format_check repeats the check. */
int bl_packing_check_attributes(const struct bl_packing_request *request, struct bl_error *e)
{
    const struct bl_input_set *inputs = request->inputs;
    const char *name[BL_INPUT_SET_ATTRIBUTES_MAX];
    int kept, count = bl_input_set_attributes(inputs, name, &kept);
    const struct bl_kind *kind = inputs->kind;
    const struct bl_kind_env env = {
        .cancel = request->cancel, .simd = bl_simd_best(), .isolation = request->inputs->isolation};
    struct bl_format format = {0};
    struct bl_error undecided = {0};
    if (!count)
        return BL_OK;
    int code = kind->read->fields(request->inputs->kind_config, &env, NULL, &format.fields, &undecided);
    if (code && code != BL_EDATA)
        return bl_error_set(e, code, "%s", undecided.text);
    if (code)
        format.fields.count = 0;
    for (int c = 0; c < count; c++) {
        bool listed = (size_t)(c - kept) < inputs->files.clips.count;
        if (c < kept && bl_format_has(&format, name[c]))
            return bl_error_set(e, BL_EUSAGE,
                                "--keep: \"%s\" is the name of a tensor of the shards: give another one, as in "
                                "NAME=KEY:number",
                                name[c]);
        if (bl_format_has(&format, name[c]))
            return bl_error_set(e, BL_EUSAGE,
                                "%s: the column \"%s\" has the name of a tensor of the shards: rename it%s",
                                listed ? "a list of clips" : bl_attributes_path(inputs->attributes), name[c],
                                listed ? "" : ", or leave it out with --attributes-columns");
    }
    return BL_OK;
}

/* The table of attributes is no longer needed: its columns are in the table of sequences. */
int bl_packing_attributes(struct bl_packing *p, struct bl_error *e)
{
    struct bl_input_set *inputs = p->request.inputs;
    const char *name[BL_INPUT_SET_ATTRIBUTES_MAX];
    struct bl_column_type sort[BL_INPUT_SET_ATTRIBUTES_MAX];
    int kept, count = bl_input_set_attributes(inputs, name, &kept);
    if (!count)
        return BL_OK;
    int code = bl_column_type_detect(&p->table, name, count, sort, e);
    for (int c = 0; c < count && !code; c++) {
        if (c < kept) /* its type does not depend on the values */
            sort[c] = (struct bl_column_type){.numeric = true, .dtype = BL_F64, .empty = sort[c].empty};
        attribute_describe(p, name[c], &sort[c]);
        if (sort[c].numeric)
            code = attribute_add(&p->format, name[c], sort[c].dtype, e);
    }
    bl_attributes_close(inputs->attributes);
    inputs->attributes = NULL;
    if (code)
        return code;
    code = bl_buffer_check(&p->attributes_text, e);
    if (code)
        return code;
    return bl_attribute_values_read(&p->values, &p->table, &p->format, e);
}
