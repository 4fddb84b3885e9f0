/* The directory of a view that is made: what decides the view, and whether the directory holds it already. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/identity_lines.h"
#include "base/text.h"
#include "packing/identity.h"
#include "packing/view_job.h"
#include "store/epochs.h"
#include "store/folders.h"

/* Options of packing that readers of a view need: its padding, and what opens the tokenizer of its ids. */
static void identity_add_recorded(const struct bl_manifest *source, struct bl_buffer *lines)
{
    static const char *const names[] = {"pad", "pattern", "special", "lowercase"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = bl_manifest_option(source, names[i]);
        if (*value)
            bl_buffer_printf(lines, "%s: %s\n", names[i], value);
    }
}

/* What decides the view: the options, what was recorded with the first source, and what the sources are. */
static int view_identify(struct bl_view_job *job, struct bl_error *e)
{
    struct bl_buffer *lines = &job->identity;
    const struct bl_manifest *m = job->manifest;
    bl_options_identity(job->request->given, lines);
    if (job->request->exclusion)
        bl_exclusion_identify(job->request->exclusion, lines);
    identity_add_recorded(&job->source[0].manifest, lines);
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

/* Whether an entry of the directory may be left by an earlier run of the same kind. */
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

/* Refuses a directory that has other files, and removes what an interrupted run was writing. */
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

/* The sources of a view that was made before may lie elsewhere now: it gets their paths. */
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
    bl_view_job_message(job, "%s: its datasets have moved, and it has their paths now", dir);
    return bl_manifest_write(there, dir, e);
}

/* The same view is left as it is, unless files of it are missing or cut: then *same is false, and they are made again.
 */
static int output_compare(struct bl_view_job *job, bool *same, struct bl_error *e)
{
    const char *dir = job->request->output;
    struct bl_manifest there;
    struct bl_buffer lines = {0}, what = {0};
    struct bl_error missing = {0};
    int code = bl_manifest_read(&there, dir, e);
    if (code)
        return code;
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
    int code = view_identify(job, e);
    if (code)
        return code;
    job->is_new = access(dir, F_OK) != 0;
    code = job->is_new ? bl_fs_mkdirs(dir, e) : BL_OK;
    if (!code)
        code = bl_fs_lock_directory(dir, "bload view", &job->lock, e);
    if (!code)
        code = bl_fs_find(dir, BL_MANIFEST_FILE, &there, e);
    if (code)
        return code;
    code = there ? output_compare(job, same, e) : output_check_entries(dir, e);
    return code || there ? code : bl_epochs_sweep(dir, job->lock, &none, e);
}
