/* Everything about the inputs of a dataset. Most of it is identity: "name: value" lines, by which a later run, a task
 * on another machine, or a view finds out whether it works on the same inputs. An example:
 *
 *     source 1: videos (video)
 *     attributes: 8f14e45fceea167a
 *     list clips.tsv: c9f0f895fb98ab91
 *
 * Lines are compared as text (bl_identity_compare), so their order and their spelling must never change. */
#include "run/input_set.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checksum.h"
#include "base/fs.h"
#include "base/input_file.h"
#include "base/io.h"
#include "base/text.h"
#include "kind/audio/kaldi.h"
#include "kind/input_stat.h"
#include "run/state_files.h"
#include "scan/extend.h"
#include "scan/merge.h"
#include "store/columns.h"

/* --- sets of inputs ----------------------------------------------------------------------------------------------- */

void bl_input_set_free(struct bl_input_set *set)
{
    bl_attributes_close(set->attributes);
    bl_exclusion_close(set->exclusion);
    bl_files_free(&set->files);
    bl_buffer_free(&set->fields_identity);
    bl_buffer_free(&set->fields_lengths);
}

bool bl_input_set_has_stdin(const struct bl_input_set *set)
{
    for (size_t i = 0; i < set->files.count; i++) {
        if (strcmp(set->files.file[i].path, "-") == 0)
            return true;
    }
    return false;
}

int bl_input_set_header(const struct bl_input_set *set, struct bl_buffer *header, struct bl_error *e)
{
    bl_buffer_text(header, BL_SEQUENCES_COLUMNS);
    bl_files_columns(&set->files, set->kind, set->kind_config, header);
    BL_TRY(bl_buffer_check(header, e));
    /* The further columns of lists, which are the last ones, must not be among those of the scan before them. */
    int columns = 1;
    for (const char *tab = header->data; (tab = strchr(tab, '\t')); tab++)
        columns++;
    for (size_t c = 0; c < set->files.clips.count; c++) {
        const char *name = set->files.clips.name[c];
        if (bl_columns_find(header->data, name) < columns - (int)set->files.clips.count)
            return bl_error_set(e, BL_EUSAGE,
                                "the column \"%s\" of a list of clips: the scan has one of that name: rename "
                                "it",
                                name);
    }
    for (int c = 0; set->attributes && c < bl_attributes_count(set->attributes); c++) {
        const char *name = bl_attributes_name(set->attributes, c);
        if (bl_columns_find(header->data, name) >= 0)
            return bl_error_set(e, BL_EUSAGE,
                                "%s: the scan already has a column \"%s\": rename it, or leave it out with "
                                "--attributes-columns",
                                bl_attributes_path(set->attributes), name);
    }
    if (set->attributes)
        bl_attributes_columns(set->attributes, header);
    if (set->own)
        bl_own_columns(set->own, header);
    return bl_buffer_check(header, e);
}

/* A visitor of the paths of a table: adds a file that the user did not name, and that belongs to source 0. */
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

/* --- counts of faults --------------------------------------------------------------------------------------------- */

struct bl_fault_counts bl_fault_counts_of(const struct bl_sequences *table)
{
    return (struct bl_fault_counts){.skipped = table->by_status[BL_ROW_SKIPPED],
                                    .failed = table->by_status[BL_ROW_FAILED],
                                    .damaged = table->damaged};
}

/* Appends ", 3 failed", or nothing if the count is 0. Only the first count has the noun: "2 inputs skipped". */
static void fault_count_append(struct bl_buffer *out, bool *first, int64_t count, const char *what)
{
    char number[BL_PLURAL_SIZE];
    if (!count)
        return;
    bl_buffer_printf(out, "%s%s %s", *first ? "" : ", ",
                     *first ? bl_text_plural(number, count, "input") : bl_text_count(number, count), what);
    *first = false;
}

void bl_fault_counts_append(struct bl_buffer *out, const struct bl_fault_counts *counts)
{
    char steps[BL_PLURAL_SIZE];
    bool first = true;
    fault_count_append(out, &first, counts->skipped, "skipped");
    fault_count_append(out, &first, counts->failed, "failed");
    if (counts->failed && counts->failed_steps)
        bl_buffer_printf(out, " (%s)", bl_text_plural(steps, counts->failed_steps, "step is zeros|steps are zeros"));
    fault_count_append(out, &first, counts->damaged, "damaged");
}

/* --- identity of inputs ------------------------------------------------------------------------------------------- */

int bl_identity_file(const char *name, const char *path, struct bl_buffer *out, struct bl_error *e)
{
    int64_t bytes;
    uint64_t checksum;
    char digest[BL_DIGEST_SIZE];
    if (!path)
        return BL_OK;
    BL_TRY(bl_far_is(path) ? bl_far_identify(path, &bytes, &checksum, e)
                           : bl_checksum_file(path, &bytes, &checksum, e));
    bl_checksum_format(checksum, digest);
    bl_buffer_printf(out, "%s: %s\n", name, digest);
    return BL_OK;
}

/* fields: the lines of the added fields. */
static void identity_add_inputs(const struct bl_input_set *inputs, bool sources, const struct bl_buffer *fields,
                                struct bl_buffer *out)
{
    for (int s = 0; s < inputs->sources && sources; s++) {
        const struct bl_source *source = &inputs->source[s];
        bl_buffer_text(out, "source ");
        bl_buffer_int(out, s + 1);
        bl_buffer_text(out, ": ");
        bl_text_escape(out, source->path, strlen(source->path));
        if (source->kind)
            bl_buffer_printf(out, " (%s)", source->kind->name);
        bl_buffer_byte(out, '\n');
    }
    if (fields->size)
        bl_buffer_append(out, fields->data, fields->size);
    if (inputs->kind && inputs->kind->options.identify)
        inputs->kind->options.identify(inputs->kind_config, out);
}

void bl_identity_inputs(const struct bl_input_set *inputs, bool sources, struct bl_buffer *out)
{
    identity_add_inputs(inputs, sources, &inputs->fields_identity, out);
}

int bl_identity_contents(const struct bl_input_set *inputs, struct bl_buffer *out, struct bl_error *e)
{
    if (!inputs->kind || !inputs->kind->spool)
        return BL_OK;
    uint64_t *digest = calloc((size_t)inputs->sources + 1, sizeof *digest);
    int code = digest ? BL_OK : bl_error_memory(e);
    /* The hash of a source chains those of its files, in their order: hash(hash so far, hash of the file). */
    for (size_t i = 0; i < inputs->files.count && !code; i++) {
        const struct bl_file *file = &inputs->files.file[i];
        uint64_t parts[2] = {digest[file->source], 0};
        if (strcmp(file->path, "-") == 0)
            continue;
        char *path = bl_path_join(inputs->base, file->path);
        code = path ? bl_content_hash_file(path, &parts[1], e) : bl_error_memory(e);
        free(path);
        digest[file->source] = bl_content_hash(parts, sizeof parts);
    }
    for (int s = 0; s < inputs->sources && !code; s++) {
        if (!digest[s])
            continue;
        bl_buffer_printf(out, "contents %d: ", s + 1);
        bl_text_escape(out, inputs->source[s].path, strlen(inputs->source[s].path));
        bl_buffer_text(out, " (");
        bl_content_format(digest[s], out);
        bl_buffer_text(out, ")\n");
    }
    free(digest);
    return code ? code : bl_buffer_check(out, e);
}

/* Adds the other files of a folder of Kaldi's. shown, path: those of its list. */
static int identity_add_kaldi(const char *shown, const char *path, struct bl_buffer *out, struct bl_error *e)
{
    int code = BL_OK;
    for (int f = 0; bl_kaldi_file[f] && !code; f++) {
        bool exists = false;
        struct bl_buffer name = {0};
        if (strcmp(bl_kaldi_file[f], bl_path_name(shown)) == 0)
            continue;
        char *beside = bl_kaldi_beside(path, bl_kaldi_file[f]), *named = bl_kaldi_beside(shown, bl_kaldi_file[f]);
        bl_buffer_text(&name, "list ");
        if (named)
            bl_text_escape(&name, named, strlen(named));
        code = beside && named ? bl_buffer_check(&name, e) : bl_error_memory(e);
        if (!code)
            code = bl_input_file_exists(beside, &exists, e);
        if (!code && exists)
            code = bl_identity_file(name.data, beside, out, e);
        bl_buffer_free(&name);
        free(beside);
        free(named);
    }
    return code;
}

/* The contents of lists are part of the configuration: a line may change while the file's size stays the same. */
static int identity_add_lists(const struct bl_input_set *inputs, struct bl_buffer *out, struct bl_error *e)
{
    int code = BL_OK;
    for (size_t i = 0; i < inputs->files.count && !code; i++) {
        const struct bl_file *file = &inputs->files.file[i];
        if (!bl_file_is_list(file, inputs->kind) || strcmp(file->path, "-") == 0)
            continue;
        char *path = bl_path_join(inputs->base, file->path);
        struct bl_buffer name = {0};
        bl_buffer_text(&name, "list ");
        bl_text_escape(&name, file->path, strlen(file->path));
        code = path ? bl_buffer_check(&name, e) : bl_error_memory(e);
        bool exists = false;
        if (!code)
            code = bl_input_file_exists(path, &exists, e);
        if (!code && exists)
            code = bl_identity_file(name.data, path, out, e);
        if (!code && bl_list_is_kaldi(file->path))
            code = identity_add_kaldi(file->path, path, out, e);
        bl_buffer_free(&name);
        free(path);
    }
    return code;
}

int bl_identity_tables(const struct bl_input_set *inputs, struct bl_buffer *out, struct bl_error *e)
{
    char digest[BL_DIGEST_SIZE];
    int code = bl_identity_file("attributes", inputs->attributes_path, out, e);
    if (inputs->attributes && !inputs->attributes_path) {
        bl_checksum_format(bl_attributes_digest(inputs->attributes), digest);
        bl_buffer_printf(out, "attributes of members: %s\n", digest);
    }
    if (inputs->exclusion)
        bl_exclusion_identify(inputs->exclusion, out);
    return code ? code : identity_add_lists(inputs, out, e);
}

int bl_identity_scan(const struct bl_options *options, const struct bl_input_set *inputs,
                     const struct bl_subset_options *subset, struct bl_buffer *out, struct bl_error *e)
{
    bl_options_identity_of(options, BL_AFFECTS_LENGTHS, out);
    identity_add_inputs(inputs, true, &inputs->fields_lengths, out);
    BL_TRY(bl_identity_tables(inputs, out, e));
    BL_TRY(bl_extend_identify(subset, out, e));
    return bl_buffer_check(out, e);
}

/* Appends the number of the files, and a checksum of their paths and ids. Their contents do not count: the rows
 * describe those. */
static int identity_add_files(const struct bl_files *files, struct bl_buffer *out, struct bl_error *e)
{
    struct bl_checksum_state state;
    char digest[BL_DIGEST_SIZE];
    bl_checksum_begin(&state);
    for (size_t i = 0; i < files->count; i++) {
        const struct bl_file *file = &files->file[i];
        const int64_t id = file->id - file->path; /* offset of the id in the path */
        bl_checksum_add(&state, &id, sizeof id);
        bl_checksum_add(&state, file->path, strlen(file->path) + 1);
    }
    bl_checksum_format(bl_checksum_end(&state), digest);
    bl_buffer_printf(out, "inputs: %zu (%s)\n", files->count, digest);
    return bl_buffer_check(out, e);
}

int bl_identity_of_manifest(const struct bl_manifest *m, struct bl_buffer *out, struct bl_error *e)
{
    bl_buffer_text(out, "");
    for (size_t i = 0; i < m->configuration.count; i++)
        bl_buffer_printf(out, "%s: %s\n", m->configuration.pair[i].name, m->configuration.pair[i].value);
    return bl_buffer_check(out, e);
}

/* Compares the lines with the configuration of the complete dataset in dir, and counts the faults of its inputs. */
static int identity_compare_dataset(const char *dir, const char *lines, bool *partial, struct bl_fault_counts *faults,
                                    struct bl_error *e)
{
    struct bl_buffer there = {0}, what = {0};
    struct bl_manifest m = {0};
    struct bl_sequences sequences = {0};
    bl_buffer_printf(&what, "%s holds a dataset", dir);
    bl_buffer_text(&there, "");
    int code = bl_buffer_check(&what, e);
    if (!code)
        code = bl_manifest_read(&m, dir, e);
    if (code)
        goto out;
    /* Only the lines of the manifest whose names these lines have. */
    for (size_t i = 0; i < m.configuration.count; i++) {
        const struct bl_manifest_pair *pair = &m.configuration.pair[i];
        size_t size = strlen(pair->name);
        const char *at = lines;
        while (*at && !(strncmp(at, pair->name, size) == 0 && strncmp(at + size, ": ", 2) == 0)) {
            at = strchrnul(at, '\n');
            at += *at == '\n';
        }
        if (*at)
            bl_buffer_printf(&there, "%s: %s\n", pair->name, pair->value);
    }
    code = bl_buffer_check(&there, e);
    if (!code)
        code = bl_identity_compare(there.data, lines, what.data, e);
    if (!code)
        code = bl_sequences_open_dataset(&sequences, dir, NULL, e);
    if (code)
        goto out;
    *partial = !bl_sequences_is_clean(&sequences);
    *faults = bl_fault_counts_of(&sequences);
out:
    bl_sequences_close(&sequences);
    bl_manifest_free(&m);
    bl_buffer_free(&there);
    bl_buffer_free(&what);
    return code;
}

int bl_identity_find(const char *dir, const char *lines, bool *found, bool *partial, struct bl_fault_counts *faults,
                     struct bl_error *e)
{
    int code = bl_fs_find(dir, BL_MANIFEST_FILE, found, e);
    return *found ? identity_compare_dataset(dir, lines, partial, faults, e) : code;
}

/* --- parts of a scan ---------------------------------------------------------------------------------------------- */

int bl_parts_agree(const struct bl_state *state, int64_t tasks, const struct bl_options *options,
                   const struct bl_input_set *inputs, const struct bl_subset_options *subset, struct bl_error *e)
{
    struct bl_buffer lines = {0};
    bl_buffer_printf(&lines, "tasks: %" PRId64 "\n", tasks);
    int code = identity_add_files(&inputs->files, &lines, e);
    if (!code)
        code = bl_identity_scan(options, inputs, subset, &lines, e);
    if (!code)
        code = bl_state_agree(state, BL_STATE_SCAN, lines.data, e);
    bl_buffer_free(&lines);
    return code;
}

int bl_parts_find(const struct bl_state *state, struct bl_parts *parts, struct bl_error *e)
{
    struct bl_buffer value = {0};
    *parts = (struct bl_parts){.missing = -1};
    int code = bl_state_value(state, BL_STATE_SCAN, "tasks", &value, e);
    if (!code && value.size && !bl_text_to_int(value.data, value.size, 1, BL_TASKS_MAX, &parts->tasks))
        code = bl_error_set(e, BL_EFAIL, "%s/" BL_STATE_SCAN ": tasks: \"%s\" is no number of tasks", state->folder,
                            value.data);
    if (!code)
        parts->missing = bl_merge_find_missing(state->folder, parts->tasks);
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
static int parts_check_option(const struct bl_state *state, const struct bl_option_match *match, struct bl_error *e)
{
    const struct bl_option *option = match->option;
    struct bl_buffer there = {0}, here = {0}, escaped = {0};
    bl_option_format(match->group, option, &here);
    bl_text_escape(&escaped, here.data ? here.data : "", here.size);
    int code = bl_state_value(state, BL_STATE_SCAN, option->name, &there, e);
    if (!code)
        code = bl_buffer_check(&here, e);
    if (!code)
        code = bl_buffer_check(&escaped, e);
    if (!code && there.size && (there.size != escaped.size || memcmp(there.data, escaped.data, there.size) != 0))
        code = bl_error_set(e, BL_EUSAGE, "%s was scanned with --%s %s: give the same", state->dir, option->name,
                            there.data);
    else if (!code && !there.size && escaped.size)
        code = bl_error_set(e, BL_EUSAGE, "%s was scanned without --%s: give it to all commands, or to none",
                            state->dir, option->name);
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
    int code = BL_OK;
    for (struct bl_option_match m = {0}; !code && bl_options_next(options, &m);) {
        if (m.group->options == bl_subset_option_table)
            code = parts_check_option(state, &m, e);
    }
    return code ? code : parts_check_extended(state, subset, e);
}
