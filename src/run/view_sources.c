/* Opens the sources of a view and its output directory.
 *
 * The view has the fields of the first source, with which the other sources must agree, and the attributes that all
 * have. Its identity has a line for each source with the checksums of the files by which a reader finds steps, so that
 * a source that was packed again makes another view. */
#include "run/view_sources.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/checksum.h"
#include "base/fs.h"
#include "base/input_file.h"
#include "base/text.h"
#include "run/input_set.h"
#include "store/epochs.h"
#include "store/folders.h"

/* --- sources of a view -------------------------------------------------------------------------------------------- */

void bl_view_job_message(const struct bl_view_job *job, const char *format, ...)
{
    char text[1200];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (job->request->message)
        job->request->message(job->request->sink, text);
}

/* Returns the path by which a source is known: without links, or its URL. The caller frees it. NULL: errno says why. */
static char *source_path(const char *dir)
{
    return bl_far_is(dir) ? strdup(dir) : realpath(dir, NULL);
}

/* Sets *name, owned by the caller, to the last component of the path of source s, or to the path as the user gave it if
 * another source has the same last component. BL_EUSAGE: a source is named twice. */
static int source_name(const struct bl_view_request *r, int s, char **name, struct bl_error *e)
{
    char *path = source_path(r->dir[s]);
    if (!path)
        return bl_error_errno(e, BL_EFAIL, "cannot resolve %s", r->dir[s]);
    bool unique = true, twice = false;
    for (int k = 0; k < r->count; k++) {
        char *other = k == s ? NULL : source_path(r->dir[k]);
        unique &= !other || strcmp(bl_path_name(other), bl_path_name(path)) != 0;
        twice |= other && strcmp(other, path) == 0;
        free(other);
    }
    *name = strdup(unique ? bl_path_name(path) : r->dir[s]);
    free(path);
    if (!*name)
        return bl_error_memory(e);
    return twice ? bl_error_set(e, BL_EUSAGE, "%s is named twice: give it a larger weight instead", r->dir[s]) : BL_OK;
}

/* Opens source s and adds it to the manifest, with its checksums and its name. */
static int source_open(struct bl_view_job *job, int s, struct bl_error *e)
{
    const char *dir = job->request->dir[s];
    struct bl_manifest m;
    BL_TRY(bl_manifest_read(&m, dir, e));
    int code = BL_OK;
    struct bl_buffer names = {0};
    /* A view of a view would give nothing that a view of its sources does not give. */
    if (bl_manifest_is_view(&m)) {
        bl_manifest_append_paths(&m, &names);
        code = bl_buffer_check(&names, e);
        if (!code)
            code = bl_error_set(e, BL_EUSAGE, "%s is a view itself: name its sources instead (from there: %s)", dir,
                                names.data);
        bl_buffer_free(&names);
    }
    bl_manifest_free(&m);
    if (!code)
        code = bl_dataset_open(&job->source[s], dir, e);
    if (code)
        return code;
    struct bl_view_source *source = bl_manifest_append_source(job->manifest, e);
    if (!source)
        return BL_EFAIL;
    source->weight = job->request->weight[s];
    code = bl_view_source_identify(source, &job->source[s].manifest, e);
    if (code)
        return bl_error_prefix(e, "%s", dir), code;
    return source_name(job->request, s, &source->name, e);
}

/* Appends the fields in words: "video U8 [224, 224, 3] kept as JPEG, label I64 []". */
static void fields_describe(const struct bl_format *format, struct bl_buffer *out)
{
    static const char *const kept[] = {
        [BL_ENCODING_RAW] = "", [BL_ENCODING_JPEG] = " kept as JPEG", [BL_ENCODING_DELTA] = " kept as differences"};
    for (int f = 0; f < format->fields.count; f++) {
        bl_buffer_text(out, f ? ", " : "");
        const struct bl_field *field = &format->fields.field[f];
        bl_buffer_printf(out, "%s %s [", field->name, bl_dtype_name(field->dtype));
        for (int i = 0; i < field->rank; i++)
            bl_buffer_printf(out, "%s%" PRId64, i ? ", " : "", field->shape[i]);
        bl_buffer_printf(out, "]%s", kept[format->encoding[f].kind]);
    }
}

/* Checks that source s has the fields of the view: the same names, types, shapes and encodings, in the same order,
 * except for fields with steps of their own, which a source may lack. */
static int fields_compare(const struct bl_view_job *job, int s, struct bl_error *e)
{
    const struct bl_format *first = &job->source[0].manifest.format, *other = &job->source[s].manifest.format;
    struct bl_buffer one = {0}, two = {0};
    int map[BL_FIELDS_MAX];
    if (bl_format_map_fields(&job->manifest->format, other, map))
        return BL_OK;
    fields_describe(first, &one);
    fields_describe(other, &two);
    int code = bl_buffer_check(&one, e);
    if (!code)
        code = bl_buffer_check(&two, e);
    if (!code)
        code = bl_error_set(e, BL_EUSAGE, "the fields of the sources differ: %s has %s; %s has %s",
                            job->request->dir[0], one.data, job->request->dir[s], two.data);
    bl_buffer_free(&one);
    bl_buffer_free(&two);
    return code;
}

/* Reports if source s has another padding than the first source. This is allowed, since the view pads its own blocks;
 * it uses the padding of the first source. */
static void padding_compare(const struct bl_view_job *job, int s)
{
    const struct bl_manifest *first = &job->source[0].manifest, *other = &job->source[s].manifest;
    bool same = first->format.pad_repeat == other->format.pad_repeat;
    int map[BL_FIELDS_MAX];
    same &= bl_format_map_fields(&job->manifest->format, &other->format, map);
    for (int f = 0; f < job->manifest->format.fields.count && same; f++)
        same = map[f] < 0 || job->manifest->format.fields.field[f].pad == other->format.fields.field[map[f]].pad;
    if (!same)
        bl_view_job_message(job, "%s has another padding than %s: blocks are padded as those of %s",
                            job->request->dir[s], job->request->dir[0], job->request->dir[0]);
}

/* Returns whether all sources have the attribute. Its type becomes F64 if some sources store integers and others F64.
 */
static bool attribute_agree(const struct bl_view_job *job, struct bl_attribute *attribute)
{
    bool everywhere = true;
    for (int s = 1; s < job->request->count && everywhere; s++) {
        const struct bl_format *other = &job->source[s].manifest.format;
        everywhere = false;
        for (int a = 0; a < other->attributes && !everywhere; a++) {
            everywhere = strcmp(other->attribute[a].name, attribute->name) == 0;
            if (everywhere && other->attribute[a].dtype == BL_F64)
                attribute->dtype = BL_F64;
        }
    }
    return everywhere;
}

/* Gives the view the attributes that all sources have. A message names those of the first source that others do not
 * have. */
static void attributes_choose(struct bl_view_job *job)
{
    struct bl_format *format = &job->manifest->format;
    struct bl_buffer left = {0};
    format->attributes = 0;
    for (int s = 0; s < job->request->count; s++) {
        const struct bl_format *own = &job->source[s].manifest.format;
        for (int a = 0; a < own->attributes; a++) {
            struct bl_attribute attribute = own->attribute[a];
            bool common = attribute_agree(job, &attribute);
            if (s == 0 && common)
                format->attribute[format->attributes++] = attribute;
            else if (s == 0)
                bl_buffer_printf(&left, "%s%s", left.size ? ", " : "", attribute.name);
        }
    }
    if (left.size && !left.failed)
        bl_view_job_message(job, "attributes that not all sources have are left out: %s", left.data);
    bl_buffer_free(&left);
}

/* Adds the own fields of a source that the view does not have yet. BL_EUSAGE: there are too many fields. */
static int fields_add_own(struct bl_manifest *view, const struct bl_manifest *source, struct bl_error *e)
{
    struct bl_fields *fields = &view->format.fields;
    for (int g = 0; g < source->format.fields.count; g++) {
        const struct bl_field *field = &source->format.fields.field[g];
        bool known = !field->own;
        for (int f = 0; f < fields->count; f++)
            known |= strcmp(fields->field[f].name, field->name) == 0;
        if (known)
            continue;
        if (fields->count == BL_FIELDS_MAX)
            return bl_error_set(e, BL_EUSAGE, "the sources have more than %d fields together", BL_FIELDS_MAX);
        fields->field[fields->count] = *field;
        view->format.encoding[fields->count] = source->format.encoding[g];
        BL_TRY(bl_manifest_text(&view->made[fields->count], source->made[g], e));
        fields->count++;
    }
    return BL_OK;
}

/* Copies the format and the libraries of the first source to the manifest of the view and compares the other sources.
 */
static int view_adopt(struct bl_view_job *job, struct bl_error *e)
{
    const struct bl_manifest *first = &job->source[0].manifest;
    struct bl_manifest *m = job->manifest;
    m->format = first->format;
    m->format.compressed = false;
    m->format.frame_size = 0;
    m->format.padded_to = 0;
    int code = bl_manifest_text(&m->tool, job->request->tool, e);
    if (!code)
        code = bl_manifest_text(&m->simd, first->simd, e);
    for (int f = 0; f < first->format.fields.count && !code; f++)
        code = bl_manifest_text(&m->made[f], first->made[f], e);
    for (size_t i = 0; i < first->libraries.count && !code; i++)
        code = bl_manifest_pair(&m->libraries, first->libraries.pair[i].name, first->libraries.pair[i].value, e);
    for (int s = 1; s < job->request->count && !code; s++)
        code = fields_add_own(m, &job->source[s].manifest, e);
    for (int f = 0; f < m->format.fields.count; f++) {
        const struct bl_field *field = &m->format.fields.field[f];
        if (field->own)
            snprintf(job->own.field[job->own.count++].name, BL_PLAN_OWN_NAME_SIZE, "%s", field->name);
    }
    for (int s = 1; s < job->request->count && !code; s++) {
        m->format.has_segment_ids &= job->source[s].manifest.format.has_segment_ids;
        code = fields_compare(job, s, e);
        if (!code)
            padding_compare(job, s);
    }
    if (!code)
        attributes_choose(job);
    return code;
}

int bl_view_job_open_sources(struct bl_view_job *job, struct bl_error *e)
{
    int count = job->request->count;
    job->source = calloc((size_t)count, sizeof *job->source);
    job->first_row = calloc((size_t)count + 1, sizeof *job->first_row);
    for (int s = 0; job->source && s < count; s++)
        job->source[s] = (struct bl_dataset){.shard = -1, .index.fd = -1, .file.fd = -1};
    int code = job->source && job->first_row ? BL_OK : bl_error_memory(e);
    for (int s = 0; s < count && !code; s++)
        code = source_open(job, s, e);
    return code ? code : view_adopt(job, e);
}

/* --- directory of a view ------------------------------------------------------------------------------------------ */

/* Appends the options of the tokenizers of own fields: those of the first source that has the field. */
static void view_identify_own(const struct bl_view_job *job, struct bl_buffer *lines)
{
    static const char *const names[] = {"pattern", "special", "lowercase"};
    const struct bl_fields *fields = &job->manifest->format.fields;
    for (int f = 0; f < fields->count; f++) {
        for (size_t i = 0; fields->field[f].own && i < sizeof names / sizeof *names; i++) {
            char name[BL_FIELD_NAME_MAX + 32];
            const char *value = "";
            snprintf(name, sizeof name, "field %s %s", fields->field[f].name, names[i]);
            for (int s = 0; s < job->request->count && !*value; s++)
                value = bl_manifest_option(&job->source[s].manifest, name);
            if (*value)
                bl_buffer_printf(lines, "%s: %s\n", name, value);
        }
    }
}

/* Makes the identity, a "name: value" line for everything that decides the view: the options, the recorded options of
 * the first source, and the checksums of the sources. */
static int view_identify(struct bl_view_job *job, struct bl_error *e)
{
    struct bl_buffer *lines = &job->identity;
    const struct bl_manifest *m = job->manifest;
    bl_options_identity(job->request->given, lines);
    if (job->request->exclusion)
        bl_exclusion_identify(job->request->exclusion, lines);
    /* The options of packing that readers of a view need: its padding, and the options of the tokenizer of its ids. */
    static const char *const names[] = {"pad", "pattern", "special", "lowercase"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = bl_manifest_option(&job->source[0].manifest, names[i]);
        if (*value)
            bl_buffer_printf(lines, "%s: %s\n", names[i], value);
    }
    view_identify_own(job, lines);
    for (size_t s = 0; s < m->sources; s++) {
        bl_buffer_printf(lines, "source %zu: ", s + 1);
        bl_text_escape(lines, m->source[s].name, strlen(m->source[s].name));
        for (int f = 0; f < BL_VIEW_SOURCE_FILES; f++)
            bl_buffer_printf(lines, " %016" PRIx64, m->source[s].checksum[f]);
        if (m->source[s].weight > 0)
            bl_buffer_printf(lines, " weight %.17g", m->source[s].weight);
        bl_buffer_byte(lines, '\n');
    }
    return bl_buffer_check(lines, e);
}

/* Returns whether an entry of the directory is a file of a view, or a temporary file of one. */
static bool entry_is_ours(const char *entry)
{
    static const char *const names[] = {BL_INDEX_FILE, BL_PLACES_FILE, BL_MANIFEST_FILE, BL_EPOCHS_DIR};
    const char *part = strstr(entry, ".part-");
    size_t size = part ? (size_t)(part - entry) : strlen(entry);
    if (strcmp(entry, ".") == 0 || strcmp(entry, "..") == 0)
        return true;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strlen(names[i]) == size && strncmp(entry, names[i], size) == 0)
            return true;
    }
    return false;
}

/* Refuses a directory that has other files, and removes the temporary files of an interrupted run. */
static int output_check_entries(const char *dir, struct bl_error *e)
{
    DIR *entries = opendir(dir);
    if (!entries)
        return bl_error_errno(e, BL_EFAIL, "cannot read the directory %s", dir);
    int code = BL_OK;
    const struct dirent *entry;
    while (!code && (entry = readdir(entries))) {
        if (!entry_is_ours(entry->d_name))
            code = bl_error_set(e, BL_EUSAGE, "%s holds no view, but %s: give another -o", dir, entry->d_name);
        else if (strstr(entry->d_name, ".part-") && unlinkat(dirfd(entries), entry->d_name, 0) != 0 && errno != ENOENT)
            code = bl_error_errno(e, BL_EFAIL, "cannot remove %s from %s", entry->d_name, dir);
    }
    closedir(entries);
    return code;
}

/* Updates the paths of an existing view, `there`, if its sources have moved. */
static int output_set_paths(const struct bl_view_job *job, struct bl_manifest *there, struct bl_error *e)
{
    const char *dir = job->request->output;
    bool moved = false;
    int code = BL_OK;
    for (size_t s = 0; s < there->sources && !code; s++) {
        char *path = NULL;
        code = bl_view_source_make_path(dir, job->request->dir[s], &path, e);
        if (code || strcmp(path, there->source[s].path) == 0) {
            free(path);
            continue;
        }
        free(there->source[s].path);
        there->source[s].path = path;
        moved = true;
    }
    if (code || !moved)
        return code;
    bl_view_job_message(job, "%s: its datasets have moved: the view has their new paths now", dir);
    return bl_manifest_write(there, dir, e);
}

/* Compares the view in the directory with this one. The same view is kept (*same), unless files of it are missing or
 * truncated: then *same is false, and the view is made again. BL_EUSAGE: the directory holds a dataset or another view.
 */
static int output_compare(struct bl_view_job *job, bool *same, struct bl_error *e)
{
    const char *dir = job->request->output;
    struct bl_manifest there;
    struct bl_buffer lines = {0}, what = {0};
    struct bl_error missing = {0};
    BL_TRY(bl_manifest_read(&there, dir, e));
    int code = BL_OK;
    if (!bl_manifest_is_view(&there))
        code = bl_error_set(e, BL_EUSAGE, "%s holds a dataset: give another -o", dir);
    if (!code)
        code = bl_identity_of_manifest(&there, &lines, e);
    bl_buffer_printf(&what, "%s holds a view", dir);
    if (!code)
        code = bl_buffer_check(&what, e);
    if (!code)
        code = bl_identity_compare(lines.data, job->identity.data, what.data, e);
    *same = !code && bl_missing_check_files(dir, &there, &missing) == BL_OK;
    if (*same)
        code = output_set_paths(job, &there, e);
    bl_buffer_free(&lines);
    bl_buffer_free(&what);
    if (code || !*same) {
        bl_manifest_free(&there);
        return code;
    }
    bl_manifest_free(job->manifest);
    *job->manifest = there;
    return BL_OK;
}

int bl_view_job_open_output(struct bl_view_job *job, bool *same, struct bl_error *e)
{
    const struct bl_manifest none = {0};
    const char *dir = job->request->output;
    bool there;
    *same = false;
    BL_TRY(view_identify(job, e));
    job->is_new = access(dir, F_OK) != 0;
    BL_TRY(job->is_new ? bl_fs_mkdirs(dir, e) : BL_OK);
    BL_TRY(bl_fs_lock_directory(dir, "bload view", &job->lock, e));
    BL_TRY(bl_fs_find(dir, BL_MANIFEST_FILE, &there, e));
    int code = there ? output_compare(job, same, e) : output_check_entries(dir, e);
    return code || there ? code : bl_epochs_sweep(dir, job->lock, &none, e);
}
