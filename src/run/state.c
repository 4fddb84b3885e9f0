/* The folder DIR/.bload. Results that tasks share are written once, under a temporary name first. Examples of its
 * files:
 *
 *     configuration     "name: value" lines of everything that decides the dataset
 *     sequences.tsv     the table of the scan, and its checksum in another file
 *     spool/            tokens, or inflated arrays
 *     *.record          a finished shard: its checksums and outcomes
 *     lock              the lock of the folder (run/state_files.h)
 *
 * Files with lines end with a line of their checksum ("sealed", base/checksum.h), so that a file that was cut or edited
 * is noticed. */
#include "run/state.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/checksum.h"
#include "base/fs.h"
#include "base/io.h"
#include "base/output.h"
#include "run/state_files.h"
#include "store/index.h"
#include "store/manifest.h"
#include "store/shard_table.h"

/* --- checksum of the table ---------------------------------------------------------------------------------------- */

#define LINE_MAX_SIZE ((size_t)64) /* bytes of the file with the checksum, which has 17 */

/* Reports that the table is not the one that was written. Returns BL_EFAIL. */
static int table_report_change(const char *path, struct bl_error *e)
{
    return bl_error_set(e, BL_EFAIL, "%s was edited or damaged since it was written (restore it, or use another -o)",
                        path);
}

int bl_table_checksum_compare(const struct bl_sequences *table, uint64_t checksum, struct bl_error *e)
{
    return table->file[0].checksum == checksum ? BL_OK : table_report_change(table->file[0].path, e);
}

/* Formats the line of the file: 16 hexadecimal digits. */
static void sum_format(uint64_t checksum, char line[BL_DIGEST_SIZE + 1])
{
    bl_checksum_format(checksum, line);
    strcat(line, "\n");
}

int bl_table_checksum_keep(const struct bl_state *s, uint64_t checksum, struct bl_error *e)
{
    struct bl_buffer path = {0};
    char line[BL_DIGEST_SIZE + 1];
    sum_format(checksum, line);
    int code = bl_state_path(s, BL_STATE_SEQUENCES_SUM, &path, e);
    if (!code)
        code = bl_output_replace(path.data, line, strlen(line), e);
    if (!code)
        code = bl_state_share_file(s, BL_STATE_SEQUENCES_SUM, e);
    bl_buffer_free(&path);
    return code;
}

int bl_table_checksum_verify(const struct bl_state *s, uint64_t *checksum, struct bl_error *e)
{
    struct bl_buffer path = {0}, there = {0};
    char line[BL_DIGEST_SIZE + 1] = "";
    int64_t bytes;
    bool exists;
    int code = bl_state_path(s, BL_STATE_SEQUENCES_SUM, &path, e);
    if (!code)
        code = bl_checksum_file(s->sequences, &bytes, checksum, e);
    if (code)
        goto out;
    sum_format(*checksum, line);
    code = bl_io_read_existing(path.data, LINE_MAX_SIZE, &there, &exists, e);
    if (!code && !exists)
        code = bl_table_checksum_keep(s, *checksum, e);
    else if (!code && (!there.data || strcmp(there.data, line) != 0))
        code = table_report_change(s->sequences, e);
out:
    bl_buffer_free(&path);
    bl_buffer_free(&there);
    return code;
}

int bl_table_checksum_forget(const struct bl_state *s, struct bl_error *e)
{
    struct bl_buffer path = {0};
    int code = bl_state_path(s, BL_STATE_SEQUENCES_SUM, &path, e);
    if (!code)
        code = bl_fs_remove(path.data, e);
    bl_buffer_free(&path);
    return code;
}

/* --- state -------------------------------------------------------------------------------------------------------- */

#define CONFIGURATION_MAX ((size_t)1 << 24) /* bytes: a configuration may name many sources */

/* Returns whether a finished dataset may have a file of this name in its directory. */
static bool name_is_of_dataset(const char *name)
{
    static const char *const names[] = {"shards", BL_SHARDS_FILE, BL_STATE_SEQUENCES, BL_INDEX_FILE, "plans"};
    bool is = false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        is |= strcmp(name, names[i]) == 0;
    return is;
}

/* Only an empty directory, or one with a dataset or its .bload, is accepted: a typing error must not mix a dataset into
 * a user's other files. */
static int state_check_empty(const char *dir, struct bl_error *e)
{
    DIR *directory = opendir(dir);
    if (!directory)
        return bl_error_errno(e, BL_EFAIL, "cannot read the directory %s", dir);
    char other[NAME_MAX + 1] = "", part[NAME_MAX + 1] = "";
    bool ours = false; /* another task may have just begun */
    int finished = 0;  /* a dataset that lost its manifest still has its shards and shards.tsv */
    const struct dirent *entry;
    while (!ours && (entry = readdir(directory))) {
        const char *name = entry->d_name;
        ours = strcmp(name, BL_WORK_FOLDER) == 0 || strcmp(name, BL_MANIFEST_FILE) == 0;
        finished += strcmp(name, "shards") == 0 || strcmp(name, BL_SHARDS_FILE) == 0;
        if (!ours && strcmp(name, ".") != 0 && strcmp(name, "..") != 0)
            snprintf(name_is_of_dataset(name) ? part : other, sizeof other, "%s", name);
    }
    closedir(directory);
    if (ours || (!*other && (!*part || finished == 2)))
        return BL_OK;
    if (!*other)
        memcpy(other, part, sizeof other);
    return bl_error_set(e, BL_EUSAGE, "%s holds %s, which is no part of an unfinished dataset: use another -o", dir,
                        other);
}

/* A finished shard has a record. */
int bl_state_has_shards(const struct bl_state *s, bool *found, struct bl_error *e)
{
    DIR *directory = opendir(s->folder);
    if (!directory)
        return bl_error_errno(e, BL_EFAIL, "cannot read the directory %s", s->folder);
    const struct dirent *entry;
    *found = false;
    while (!*found && (entry = readdir(directory)))
        *found = strstr(entry->d_name, ".record") != NULL;
    closedir(directory);
    return BL_OK;
}

int bl_state_find(const char *dir, bool *found, struct bl_error *e)
{
    char *folder = bl_path_join(dir, BL_WORK_FOLDER);
    if (!folder)
        return bl_error_memory(e);
    int code = bl_fs_exists(folder, found, e);
    free(folder);
    return code;
}

/* Removes the files of a folder, except the spool and the lock, and refuses files that no run makes. A missing folder
 * is no error. */
static int folder_remove_files(const char *folder, struct bl_error *e)
{
    DIR *directory;
    BL_TRY(bl_fs_opendir(folder, &directory, e));
    if (!directory)
        return BL_OK;
    const struct dirent *entry;
    int code = BL_OK;
    while (!code && (entry = readdir(directory))) {
        const char *name = entry->d_name;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || strcmp(name, BL_STATE_LOCK) == 0 ||
            strcmp(name, BL_STATE_LOCK_ALONE) == 0 || strcmp(name, "spool") == 0 || bl_folders_is_of_system(name))
            continue;
        if (!bl_folders_is_work_file(name)) {
            code = bl_error_set(e, BL_EFAIL, "%s/%s is not a file of bload: check what it is, and remove it", folder,
                                name);
            break;
        }
        if (unlinkat(dirfd(directory), name, 0) != 0)
            code = bl_error_errno(e, BL_EFAIL, "cannot remove %s/%s", folder, name);
    }
    closedir(directory);
    return code;
}

/* Reads a file of the folder; lines is empty if there is none. */
static int state_read_lines(const struct bl_state *s, const char *name, struct bl_buffer *lines, struct bl_error *e)
{
    struct bl_buffer path = {0};
    bl_buffer_clear(lines);
    bl_buffer_text(lines, "");
    bool exists = false;
    int code = bl_state_path(s, name, &path, e);
    if (!code)
        code = bl_fs_exists(path.data, &exists, e);
    const char *base;
    int folder = code || !exists ? -1 : bl_fs_open_parent(path.data, &base, e); /* refuses a path through a link */
    if (folder >= 0) {
        close(folder);
        code = bl_sealed_read(path.data, CONFIGURATION_MAX, lines, e);
    } else if (!code && exists) {
        code = folder;
    }
    bl_buffer_free(&path);
    return code ? code : bl_buffer_check(lines, e);
}

/* Checks that the existing configuration equals this one. BL_EUSAGE: it differs. */
static int state_check_identity(const struct bl_state *s, const char *identity, struct bl_error *e)
{
    static const char *const stages[] = {BL_STATE_SCAN, BL_STATE_PLAN};
    struct bl_buffer there = {0}, what = {0};
    bl_buffer_printf(&what, "%s holds an unfinished dataset", s->dir);
    int code = bl_buffer_check(&what, e);
    if (!code)
        code = state_read_lines(s, BL_STATE_CONFIGURATION, &there, e);
    if (!code && there.size)
        code = bl_identity_compare(there.data, identity, what.data, e);
    for (size_t i = 0; i < sizeof stages / sizeof *stages && !code; i++) {
        code = state_read_lines(s, stages[i], &there, e);
        if (!code)
            code = bl_identity_within(there.data, identity, what.data, e);
    }
    bl_buffer_free(&there);
    bl_buffer_free(&what);
    return code;
}

/* Until a shard is finished, another configuration can replace the old one: a user who corrects or changes an option
 * need not empty the directory first. Only earlier work is repeated. */
static int state_resolve_configuration(const struct bl_state *s, const char *identity, struct bl_error *e)
{
    struct bl_error differs = {0};
    int code = state_check_identity(s, identity, &differs);
    if (code) {
        bool begun = true;
        if (code == BL_EUSAGE && bl_state_has_shards(s, &begun, e))
            return BL_EFAIL;
        if (begun)
            return bl_error_pass(e, code, &differs);
        BL_TRY(folder_remove_files(s->folder, e));
    }
    bool exists;
    BL_TRY(bl_fs_exists(s->configuration, &exists, e));
    if (exists)
        return BL_OK;
    struct bl_buffer text = {0};
    bl_buffer_text(&text, identity);
    code = bl_sealed_close(&text, e);
    if (!code)
        code = bl_output_replace(s->configuration, text.data, text.size, e);
    bl_buffer_free(&text);
    return code;
}

/* Sets the paths. The caller frees them with bl_state_close, also after an error. */
static int state_make_names(struct bl_state *s, const char *dir, struct bl_error *e)
{
    *s = (struct bl_state)BL_STATE_NONE;
    s->dir = strdup(dir);
    s->folder = bl_path_join(dir, BL_WORK_FOLDER);
    s->configuration = s->folder ? bl_path_join(s->folder, BL_STATE_CONFIGURATION) : NULL;
    s->sequences = s->folder ? bl_path_join(s->folder, BL_STATE_SEQUENCES) : NULL;
    s->spool = s->folder ? bl_path_join(s->folder, "spool") : NULL;
    return s->dir && s->configuration && s->sequences && s->spool ? BL_OK : bl_error_memory(e);
}

int bl_state_path(const struct bl_state *s, const char *name, struct bl_buffer *path, struct bl_error *e)
{
    bl_buffer_printf(path, "%s/%s", s->folder, name);
    return bl_buffer_check(path, e);
}

/* Makes DIR and DIR/.bload if needed, and takes the lock. */
static int state_enter(struct bl_state *s, const char *dir, bool shared, struct bl_error *e)
{
    BL_TRY(state_make_names(s, dir, e));
    bool exists = false;
    BL_TRY(bl_fs_mkdirs(dir, e));
    BL_TRY(bl_fs_exists(s->folder, &exists, e));
    if (!exists)
        BL_TRY(state_check_empty(dir, e));
    BL_TRY(bl_folders_make(s->folder, e));
    BL_TRY(bl_folders_make(s->spool, e));
    bl_folders_refresh(s->folder); /* see files that others have just written */
    return bl_state_lock_take(s->folder, s->dir, shared, &s->lock, &s->alone, e);
}

int bl_state_open(struct bl_state *s, const char *dir, const char *identity, struct bl_error *e)
{
    int code = state_enter(s, dir, false, e);
    if (!code)
        code = state_resolve_configuration(s, identity, e);
    if (code)
        bl_state_close(s);
    return code;
}

/* Without a finished shard, another configuration would replace the one that is there. */
static int state_examine_begun(const struct bl_state *s, const char *identity, bool *begun, struct bl_error *e)
{
    struct bl_error differs = {0};
    int code = state_check_identity(s, identity, &differs);
    if (code == BL_EUSAGE && bl_state_has_shards(s, begun, e))
        return BL_EFAIL;
    if (code == BL_EUSAGE && !*begun)
        return BL_OK;
    *begun = !code;
    return bl_error_pass(e, code, &differs);
}

int bl_state_examine(const char *dir, const char *identity, bool *begun, struct bl_error *e)
{
    struct bl_state s;
    bool has_folder = false, exists = false;
    *begun = false;
    int code = state_make_names(&s, dir, e);
    if (!code)
        code = bl_fs_exists(s.folder, &has_folder, e);
    if (!code && !has_folder)
        code = bl_fs_exists(dir, &exists, e);
    if (!code && has_folder)
        code = state_examine_begun(&s, identity, begun, e);
    else if (!code && exists)
        code = state_check_empty(dir, e);
    bl_state_close(&s);
    return code;
}

/* The first of a machine's tasks removes incomplete files; the others wait for it. Per machine, since on some file
 * systems a lock is not visible to other machines. */
static int state_join_host(struct bl_state *s, struct bl_error *e)
{
    char host[65];
    struct bl_buffer path = {0};
    bl_temporary_host(host);
    bl_buffer_printf(&path, "%s/lock-%s", s->folder, host);
    int code = bl_buffer_check(&path, e);
    if (code)
        goto out;
    s->host_lock = bl_fs_open_lock(path.data, e);
    if (s->host_lock < 0) {
        code = s->host_lock;
        goto out;
    }
    if (flock(s->host_lock, LOCK_EX | LOCK_NB) == 0)
        code = bl_folders_sweep(s->dir, true, e);
    while (!code && flock(s->host_lock, LOCK_SH) != 0 && errno == EINTR)
        continue; /* without locks nothing was removed either */
out:
    bl_buffer_free(&path);
    return code;
}

int bl_state_share(struct bl_state *s, const char *dir, struct bl_error *e)
{
    int code = state_enter(s, dir, true, e);
    if (!code)
        code = state_join_host(s, e);
    if (code)
        bl_state_close(s);
    return code;
}

int bl_state_adopt(struct bl_state *s, const char *dir, struct bl_error *e)
{
    bool exists = false;
    int code = state_make_names(s, dir, e);
    if (!code)
        code = bl_fs_exists(s->folder, &exists, e);
    if (code)
        goto out;
    if (!exists) {
        code = bl_error_set(e, BL_EUSAGE, "%s holds no unfinished dataset: nothing to finish", dir);
        goto out;
    }
    bl_folders_refresh(s->folder);
    code = bl_state_lock_take(s->folder, s->dir, false, &s->lock, &s->alone, e);
out:
    if (code)
        bl_state_close(s);
    return code;
}

int bl_state_publish(const struct bl_state *s, const char *name, const struct bl_buffer *text, struct bl_error *e)
{
    struct bl_buffer path = {0};
    struct bl_output out = {0};
    int code = bl_state_path(s, name, &path, e);
    if (!code)
        code = bl_output_own(&out, path.data, e);
    if (!code)
        code = bl_output_write(&out, text->data, text->size, e);
    if (!code)
        code = bl_output_publish(&out, e);
    if (!code)
        code = bl_state_share_file(s, name, e);
    bl_output_abort(&out);
    bl_buffer_free(&path);
    return code;
}

int bl_state_share_file(const struct bl_state *s, const char *name, struct bl_error *e)
{
    char *path = s->mirror ? bl_path_join(BL_WORK_FOLDER, name) : NULL;
    if (!s->mirror)
        return BL_OK;
    int code = path ? bl_mirror_publish(s->mirror, path, e) : bl_error_memory(e);
    free(path);
    return code;
}

int bl_state_agree(const struct bl_state *s, const char *name, const char *lines, struct bl_error *e)
{
    struct bl_buffer text = {0}, there = {0}, what = {0};
    struct bl_error why = {0};
    bl_buffer_printf(&what, "%s holds an unfinished dataset", s->dir);
    bl_buffer_text(&text, lines);
    int code = bl_sealed_close(&text, e);
    if (code)
        goto out;
    code = what.failed ? bl_error_memory(e) : state_read_lines(s, name, &there, e);
    if (code)
        goto out;
    if (!there.size)
        code = bl_state_publish(s, name, &text, &why);
    /* Another task may have been faster, with other lines. */
    if (code == BL_EDATA)
        code = state_read_lines(s, name, &there, e);
    else if (code)
        (void)bl_error_pass(e, code, &why);
    if (!code && there.size)
        code = bl_identity_compare(there.data, lines, what.data, e);
out:
    bl_buffer_free(&text);
    bl_buffer_free(&there);
    bl_buffer_free(&what);
    return code;
}

int bl_state_configure(const struct bl_state *s, const char *identity, struct bl_error *e)
{
    BL_TRY(state_check_identity(s, identity, e));
    return bl_state_agree(s, BL_STATE_CONFIGURATION, identity, e);
}

int bl_state_value(const struct bl_state *s, const char *file, const char *name, struct bl_buffer *value,
                   struct bl_error *e)
{
    struct bl_buffer lines = {0};
    size_t size = 0;
    int code = state_read_lines(s, file, &lines, e);
    const char *found = code ? NULL : bl_identity_value(lines.data, name, strlen(name), &size);
    if (found)
        bl_buffer_append(value, found, size);
    bl_buffer_free(&lines);
    return code ? code : bl_buffer_check(value, e);
}

int bl_state_recorded(const char *dir, const char *name, struct bl_buffer *value, struct bl_error *e)
{
    struct bl_state s;
    int code = state_make_names(&s, dir, e);
    if (!code)
        code = bl_state_value(&s, BL_STATE_CONFIGURATION, name, value, e);
    bl_state_close(&s);
    return code;
}

#define WAIT_TRIES 100 /* attempts to remove a folder, with the following pause between them */
#define WAIT_MICROSECONDS 10000

/* Returns whether the folder holds anything besides files that the file system will remove by itself. */
static bool folder_holds_more(const char *folder)
{
    DIR *directory = opendir(folder);
    const struct dirent *entry;
    bool more = false;
    while (directory && !more && (entry = readdir(directory)))
        more = strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
               !bl_folders_is_of_system(entry->d_name);
    if (directory)
        closedir(directory);
    return more;
}

/* Removes a folder after all of its files were removed. Some network file systems keep removed files under other names
 * until they are closed. The function waits for them for up to a second. A folder that remains after that is no error:
 * it holds nothing of value. */
static int folder_remove(const char *folder, struct bl_error *e)
{
    int code = BL_OK;
    for (int i = 0; i < WAIT_TRIES; i++) {
        struct bl_error why = {0};
        code = access(folder, F_OK) == 0 ? bl_fs_rmdir(folder, &why) : BL_OK;
        if (!code)
            return BL_OK;
        bool full = errno == ENOTEMPTY || errno == EEXIST || errno == EBUSY;
        if (!full || folder_holds_more(folder))
            return bl_error_pass(e, code, &why);
        usleep(WAIT_MICROSECONDS);
    }
    return BL_OK;
}

int bl_state_remove(struct bl_state *s, struct bl_error *e)
{
    BL_TRY(folder_remove_files(s->spool, e));
    BL_TRY(folder_remove(s->spool, e));
    BL_TRY(folder_remove_files(s->folder, e));
    bool free_of_others = access(s->spool, F_OK) != 0;
    /* Release the lock last: no other run can begin before. From then on another run can begin, and the folder is its
     * own. */
    BL_TRY(bl_state_lock_release(s->folder, &s->lock, &s->alone, true, e));
    struct bl_error other = {0};
    if (free_of_others && folder_remove(s->folder, &other)) {
        char *lock = bl_path_join(s->folder, BL_STATE_LOCK);
        bool taken = lock && access(lock, F_OK) == 0; /* another run has begun in the folder */
        free(lock);
        if (!taken)
            return bl_error_pass(e, BL_EFAIL, &other);
    }
    return bl_fs_sync_directory(s->dir, e);
}

/* The directory stays if something else is in it, or if another run has just begun in it. */
int bl_state_discard(struct bl_state *s, struct bl_error *e)
{
    BL_TRY(bl_state_remove(s, e));
    if (rmdir(s->dir) != 0 && errno != ENOTEMPTY && errno != EEXIST && errno != EBUSY)
        return bl_error_errno(e, BL_EFAIL, "cannot remove %s", s->dir);
    return BL_OK;
}

int bl_state_remove_leftovers(const char *dir, struct bl_error *e)
{
    struct bl_state s;
    bool exists = false;
    int code = state_make_names(&s, dir, e);
    if (!code)
        code = bl_fs_exists(s.folder, &exists, e);
    if (code || !exists)
        goto out;
    code = bl_state_lock_take(s.folder, s.dir, false, &s.lock, &s.alone, e);
    if (!code)
        code = bl_state_remove(&s, e);
out:
    bl_state_close(&s);
    return code;
}

void bl_state_close(struct bl_state *s)
{
    if (s->folder)
        (void)bl_state_lock_release(s->folder, &s->lock, &s->alone, false, NULL);
    if (s->host_lock >= 0)
        close(s->host_lock);
    free(s->dir);
    free(s->folder);
    free(s->configuration);
    free(s->sequences);
    free(s->spool);
    *s = (struct bl_state)BL_STATE_NONE;
}

/* --- saved plan --------------------------------------------------------------------------------------------------- */

/* The plan's tables do not contain its proofs and counts. These are in a text file beside it, which is written first.
 * (The metadata of the plan file has them too, for users who copy only that file.) */

int bl_saved_plan_publish(const struct bl_state *state, const struct bl_plan *plan, const int64_t *length, size_t count,
                          const struct bl_plan_info *plan_info, struct bl_error *e)
{
    struct bl_buffer path = {0}, json = {0};
    struct bl_output out = {0};
    int code = bl_plan_info_format(plan_info, true, &json, e);
    if (!code)
        code = bl_sealed_close(&json, e);
    if (!code)
        code = bl_state_publish(state, BL_STATE_PLAN_INFO, &json, e);
    if (!code)
        code = bl_state_path(state, BL_STATE_PLAN_FILE, &path, e);
    if (!code)
        code = bl_output_own(&out, path.data, e);
    if (!code)
        code = bl_index_write(&out, plan, length, count, plan_info, e);
    if (!code)
        code = bl_output_publish(&out, e);
    if (!code)
        code = bl_state_share_file(state, BL_STATE_PLAN_FILE, e);
    bl_output_abort(&out);
    bl_buffer_free(&path);
    bl_buffer_free(&json);
    return code;
}

int bl_saved_plan_load(const struct bl_state *state, struct bl_plan *plan, struct bl_plan_info *plan_info, int64_t T,
                       const int64_t *length, size_t count, const struct bl_plan_own *own, bool *found,
                       struct bl_error *e)
{
    struct bl_buffer path = {0}, info_path = {0};
    bool exists = false;
    *found = false;
    int code = bl_state_path(state, BL_STATE_PLAN_FILE, &path, e);
    if (!code)
        code = bl_state_path(state, BL_STATE_PLAN_INFO, &info_path, e);
    if (!code)
        code = bl_fs_exists(path.data, &exists, e);
    if (code || !exists)
        goto out;
    code = bl_plan_info_read(plan_info, info_path.data, e);
    if (!code)
        code = bl_index_load(plan, path.data, T, 0, length, count, own, NULL, e);
    if (code)
        goto out;
    plan->is_store = bl_plan_info_is_store(plan_info);
    plan->lower_bound = plan_info->lower_bound;
    plan->balance = plan_info->balance;
    *found = true;
out:
    bl_buffer_free(&path);
    bl_buffer_free(&info_path);
    return code;
}
