#include "run/state_files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/fs.h"
#include "base/io.h"
#include "base/text.h"
#include "run/state.h"
#include "store/folders.h"

static int numbers_add(struct bl_numbers *n, int64_t number, struct bl_error *e)
{
    if (BL_ARRAY_RESERVE(n->at, n->capacity, n->count + 1, e))
        return BL_EFAIL;
    n->at[n->count++] = number;
    return BL_OK;
}

static int numbers_compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* Counts the numbers below limit. */
static size_t numbers_count_below(const struct bl_numbers *n, int64_t limit)
{
    size_t low = 0, high = n->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (n->at[middle] < limit)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int64_t bl_numbers_count_within(const struct bl_numbers *n, int64_t begin, int64_t end)
{
    return (int64_t)(numbers_count_below(n, end) - numbers_count_below(n, begin));
}

static int files_add(struct bl_state_files *files, const char *name, struct bl_error *e)
{
    int64_t number;
    if (bl_text_numbered(name, "shard-", 8, ".record", &number))
        return numbers_add(&files->records, number, e);
    if (bl_text_numbered(name, "scan-", 5, "", &number))
        return numbers_add(&files->parts, number, e);
    if (bl_text_numbered(name, "scan-task-", 5, "", &number))
        return numbers_add(&files->scans, number, e);
    if (bl_text_numbered(name, "task-", 5, "", &number))
        return numbers_add(&files->packs, number, e);
    files->table |= strcmp(name, BL_STATE_SEQUENCES) == 0;
    files->plan |= strcmp(name, BL_STATE_PLAN_FILE) == 0;
    files->plan_info |= strcmp(name, BL_STATE_PLAN_INFO) == 0;
    files->draft |= strcmp(name, BL_STATE_DRAFT) == 0;
    return BL_OK;
}

int bl_state_files_list(struct bl_state_files *files, DIR *directory, const char *folder, struct bl_error *e)
{
    int code = BL_OK;
    const struct dirent *entry;
    *files = (struct bl_state_files){0};
    while (!code && (errno = 0, entry = readdir(directory)))
        code = files_add(files, entry->d_name, e);
    if (code)
        return code;
    if (errno)
        return bl_error_errno(e, BL_EFAIL, "cannot read the directory %s", folder);
    struct bl_numbers *all[] = {&files->records, &files->parts, &files->scans, &files->packs};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (all[i]->count)
            qsort(all[i]->at, all[i]->count, sizeof *all[i]->at, numbers_compare);
    }
    return BL_OK;
}

void bl_state_files_free(struct bl_state_files *files)
{
    free(files->records.at);
    free(files->parts.at);
    free(files->scans.at);
    free(files->packs.at);
}

int bl_state_files_drop_lone(struct bl_state_files *files, const struct bl_format *format, const char *dir,
                             struct bl_error *e)
{
    struct bl_numbers *records = &files->records;
    uint8_t there[BL_SHARDS_PER_FOLDER];
    int64_t first = -1;
    size_t kept = 0;
    for (size_t i = 0; i < records->count; i++) {
        int64_t shard = records->at[i], place = shard % BL_SHARDS_PER_FOLDER;
        if (shard - place != first) {
            first = shard - place;
            memset(there, 0, sizeof there);
            int code = bl_folders_read_shards(dir, format, first, there, e);
            if (code)
                return code;
        }
        if (there[place])
            records->at[kept++] = shard;
    }
    records->count = kept;
    return BL_OK;
}

int bl_state_files_read(const char *folder, const char *name, size_t max, struct bl_buffer *text, struct stat *status,
                        bool *found, struct bl_error *e)
{
    struct bl_buffer path = {0};
    *found = false;
    bl_buffer_printf(&path, "%s/%s", folder, name);
    int code = bl_buffer_check(&path, e);
    if (code)
        goto out;
    if (stat(path.data, status) != 0) {
        if (errno != ENOENT)
            code = bl_error_errno(e, BL_EFAIL, "cannot stat %s", path.data);
        goto out;
    }
    *found = true;
    code = bl_regular_check(path.data, e);
    if (!code)
        code = bl_io_read_file(path.data, max, text, e);
out:
    bl_buffer_free(&path);
    return code;
}
