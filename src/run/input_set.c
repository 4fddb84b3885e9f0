#include "run/input_set.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checksum.h"
#include "base/fs.h"
#include "base/instream.h"
#include "base/io.h"
#include "base/output.h"
#include "base/text.h"
#include "run/identity.h"
#include "run/internal.h"
#include "run/state_files.h"
#include "scan/extend.h"
#include "scan/merge.h"
#include "store/columns.h"

#define BL_INPUT_SET_ATTRIBUTES_MAX (BL_JSON_KEYS_MAX + 2 * BL_ATTRIBUTE_COLUMNS_MAX)

/* --- sets of inputs ----------------------------------------------------------------------------------------------- */

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

/* Sets the names of the columns that become attributes: those that the kind has numbers in (*kept), and where they are
 * numbers those of the lists of clips, then those of the table of attributes. Returns how many. */
static int bl_input_set_attributes(const struct bl_input_set *set, const char *name[BL_INPUT_SET_ATTRIBUTES_MAX],
                                   int *kept)
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

/* --- attributes --------------------------------------------------------------------------------------------------- */

/* Attributes of a pack: which columns hold numbers, and their values. */

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

/* --- parts of a scan ---------------------------------------------------------------------------------------------- */

int bl_parts_agree(const struct bl_state *state, int64_t tasks, const struct bl_options *options,
                   const struct bl_input_set *inputs, const struct bl_subset_options *subset, struct bl_error *e)
{
    struct bl_buffer lines = {0};
    bl_buffer_printf(&lines, "tasks: %" PRId64 "\n", tasks);
    int code = bl_identity_files(&inputs->files, &lines, e);
    if (code)
        goto out;
    code = bl_identity_scan(options, inputs, subset, &lines, e);
    if (code)
        goto out;
    code = bl_state_agree(state, BL_STATE_SCAN, lines.data, e);
out:
    bl_buffer_free(&lines);
    return code;
}

int bl_parts_find(const struct bl_state *state, struct bl_parts *parts, struct bl_error *e)
{
    struct bl_buffer value = {0};
    *parts = (struct bl_parts){.missing = -1};
    int code = bl_state_value(state, BL_STATE_SCAN, "tasks", &value, e);
    if (code)
        goto out;
    if (value.size && !bl_text_to_int(value.data, value.size, 1, BL_TASKS_MAX, &parts->tasks))
        code = bl_error_set(e, BL_EFAIL, "%s/" BL_STATE_SCAN ": tasks: \"%s\" is no number of tasks", state->folder,
                            value.data);
    if (code)
        goto out;
    parts->missing = bl_merge_find_missing(state->folder, parts->tasks);
out:
    bl_buffer_free(&value);
    return code;
}

int bl_parts_require(const struct bl_state *state, const struct bl_parts *parts, struct bl_error *e)
{
    if (!parts->tasks)
        return bl_error_set(e, BL_EFAIL, "%s holds no part of a scan: run bload scan --task i/N -o %s ...", state->dir,
                            state->dir);
    if (parts->missing < 0)
        return BL_OK;
    return bl_error_set(e, BL_EFAIL,
                        "part %" PRId64 " of %" PRId64 " is missing: run bload scan --task %" PRId64 "/%" PRId64
                        " -o %s ...",
                        parts->missing, parts->tasks, parts->missing, parts->tasks, state->dir);
}

/* An option of the subset must have the value that the tasks of the scan recorded. */
struct subset_check {
    const struct bl_state *state;
    struct bl_error *e;
};

static int parts_check_option(void *context, const struct bl_option_group *group, const struct bl_option *option)
{
    const struct subset_check *check = context;
    struct bl_buffer there = {0}, here = {0}, escaped = {0};
    if (group->options != bl_subset_option_table)
        return BL_OK;
    bl_option_format(group, option, &here);
    bl_text_escape(&escaped, here.data ? here.data : "", here.size);
    int code = bl_state_value(check->state, BL_STATE_SCAN, option->name, &there, check->e);
    if (!code)
        code = bl_buffer_check(&here, check->e);
    if (!code)
        code = bl_buffer_check(&escaped, check->e);
    if (!code && there.size && (there.size != escaped.size || memcmp(there.data, escaped.data, there.size) != 0))
        code = bl_error_set(check->e, BL_EUSAGE, "%s was scanned with --%s %s: give the same", check->state->dir,
                            option->name, there.data);
    else if (!code && !there.size && escaped.size)
        code = bl_error_set(check->e, BL_EUSAGE, "%s was scanned without --%s: give it to all commands, or to none",
                            check->state->dir, option->name);
    bl_buffer_free(&there);
    bl_buffer_free(&here);
    bl_buffer_free(&escaped);
    return code;
}

/* The lines of the datasets are among those of the scan. */
static int parts_check_extended(const struct bl_state *state, const struct bl_subset_options *subset,
                                struct bl_error *e)
{
    struct bl_buffer lines = {0}, there = {0};
    int code = bl_extend_identify(subset, &lines, e);
    size_t at = 0, size;
    const char *line;
    for (int i = 1; !code && bl_text_next_line(lines.data, lines.size, &at, &line, &size); i++) {
        char name[32];
        size_t begin = (size_t)snprintf(name, sizeof name, "extend %d", i) + 2;
        bl_buffer_clear(&there);
        code = bl_state_value(state, BL_STATE_SCAN, name, &there, e);
        if (!code && (there.size != size - begin || memcmp(there.data, line + begin, there.size) != 0))
            code = bl_error_set(e, BL_EUSAGE, "%s was scanned with another dataset at --extend: %s there, not %.*s",
                                state->dir, there.size ? there.data : "none", (int)(size - begin), line + begin);
    }
    bl_buffer_free(&lines);
    bl_buffer_free(&there);
    return code;
}

int bl_parts_check_subset(const struct bl_state *state, const struct bl_options *options,
                          const struct bl_subset_options *subset, struct bl_error *e)
{
    struct subset_check check = {state, e};
    int code = bl_options_each(options, parts_check_option, &check);
    return code ? code : parts_check_extended(state, subset, e);
}

/* --- standard input ----------------------------------------------------------------------------------------------- */

/* Standard input of bload pack. It can be read only once, so its checksum is part of the dataset's identity: DIR/.bload
 * stores it from the scan on, and the manifest's configuration later. A run that resumes, or finds a dataset, reads all
 * of standard input to compare it. */

#define NAME "standard input" /* name of the configuration line */
#define SUM_MAX ((size_t)64)

bool bl_packing_reads_stdin(const struct bl_packing *p)
{
    return !p->request.sequences && bl_input_set_has_stdin(p->request.inputs);
}

/* Hashes all of standard input. */
static int stdin_digest(const struct bl_packing *p, char digest[BL_DIGEST_SIZE], struct bl_error *e)
{
    struct bl_instream *stream = NULL;
    uint64_t sum = 0;
    int code = bl_instream_open(&stream, "-", 0, p->env.cancel, e);
    if (!code)
        code = bl_instream_drain(stream, &sum, e);
    if (stream)
        bl_instream_close(stream);
    bl_checksum_format(sum, digest);
    return code;
}

int bl_packing_add_stdin(struct bl_packing *p, const char *digest, struct bl_error *e)
{
    if (digest)
        bl_buffer_printf(&p->identity, NAME ": %s\n", digest);
    return bl_buffer_check(&p->identity, e);
}

static int stdin_mismatch(const char *what, const char *there, const char *digest, struct bl_error *e)
{
    return bl_error_set(e, BL_EUSAGE,
                        "%s of another configuration: " NAME " is \"%s\" there, not \"%s\" (use the same input, or "
                        "another -o)",
                        what, there, digest);
}

int bl_packing_keep_stdin(struct bl_packing *p, uint64_t sum, struct bl_error *e)
{
    struct bl_buffer path = {0};
    char digest[BL_DIGEST_SIZE];
    if (!sum)
        return BL_OK;
    bl_checksum_format(sum, digest);
    int code = bl_state_path(&p->state, BL_STATE_STDIN, &path, e);
    if (!code)
        code = bl_output_replace(path.data, digest, strlen(digest), e);
    bl_buffer_free(&path);
    return code ? code : bl_packing_add_stdin(p, digest, e);
}

/* A scan without a finished shard is repeated: the input may have changed, and can be read only once. */
static int stdin_discard_scan(const struct bl_packing *p, struct bl_error *e)
{
    int code = bl_table_checksum_forget(&p->state, e);
    return code ? code : bl_fs_remove(p->state.sequences, e);
}

static int stdin_compare(struct bl_packing *p, const char *path, struct bl_error *e)
{
    struct bl_buffer scanned = {0}, what = {0};
    char digest[BL_DIGEST_SIZE];
    bl_buffer_printf(&what, "%s holds an unfinished dataset", p->request.output);
    bl_buffer_text(&scanned, "");
    int code = what.failed || scanned.failed ? bl_error_memory(e) : BL_OK;
    if (code)
        goto out;
    code = bl_io_read_file(path, SUM_MAX, &scanned, e);
    if (code)
        goto out;
    code = stdin_digest(p, digest, e);
    if (code)
        goto out;
    if (strcmp(scanned.data, digest) != 0)
        code = stdin_mismatch(what.data, scanned.data, digest, e);
    else
        code = bl_packing_add_stdin(p, digest, e);
out:
    bl_buffer_free(&scanned);
    bl_buffer_free(&what);
    return code;
}

int bl_packing_check_stdin(struct bl_packing *p, struct bl_error *e)
{
    struct bl_buffer path = {0};
    bool begun = true; /* with tasks, another one may have begun */
    int code = p->request.task.set ? BL_OK : bl_state_has_shards(&p->state, &begun, e);
    if (code)
        return code;
    if (!begun)
        return stdin_discard_scan(p, e);
    code = bl_state_path(&p->state, BL_STATE_STDIN, &path, e);
    bool exists = false;
    if (!code)
        code = bl_fs_exists(path.data, &exists, e);
    if (!code && exists)
        code = stdin_compare(p, path.data, e);
    bl_buffer_free(&path);
    return code;
}

void bl_packing_extract_stdin(struct bl_buffer *lines, struct bl_buffer *digest)
{
    char *line = lines->data ? strstr(lines->data, "\n" NAME ": ") : NULL;
    if (!line)
        return;
    char *value = line + strlen("\n" NAME ": "), *end = strchrnul(value, '\n');
    bl_buffer_append(digest, value, (size_t)(end - value));
    size_t tail = lines->size - (size_t)(end - lines->data);
    memmove(line, end, tail + 1);
    lines->size = (size_t)(line - lines->data) + tail;
}

int bl_packing_compare_stdin(const struct bl_packing *p, const struct bl_buffer *there, const char *what,
                             struct bl_error *e)
{
    char digest[BL_DIGEST_SIZE];
    if (!there->size)
        return BL_OK;
    int code = stdin_digest(p, digest, e);
    if (code || strcmp(there->data, digest) == 0)
        return code;
    return stdin_mismatch(what, there->data, digest, e);
}
