#include "scan/same_content.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/fs.h"
#include "base/input_file.h"
#include "base/io.h"
#include "kind/kinds.h"

#define PIECE ((size_t)64 << 10)

/* What decides which part of its file a row is, besides its texts. */
struct place {
    uint64_t content;
    int64_t stream, is_clip, begin, end;
};

static struct place row_place(const struct bl_row *row)
{
    return (struct place){row->content, row->stream, row->is_clip, row->clip_begin, row->clip_end};
}

static uint64_t same_hash_text(const char *text)
{
    return text ? XXH3_64bits(text, strlen(text)) : 0;
}

uint64_t bl_same_content_hash(const struct bl_row *row)
{
    const struct place place = row_place(row);
    const uint64_t parts[] = {XXH3_64bits(&place, sizeof place), same_hash_text(row->start),
                              same_hash_text(row->duration), same_hash_text(row->channel)};
    return XXH3_64bits(parts, sizeof parts);
}

static bool same_text(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "") == 0;
}

static bool same_place(const struct bl_row *a, const struct bl_row *b)
{
    const struct place one = row_place(a), two = row_place(b);
    return memcmp(&one, &two, sizeof one) == 0 && same_text(a->kind, b->kind) && same_text(a->start, b->start) &&
           same_text(a->duration, b->duration) && same_text(a->channel, b->channel);
}

/* --- files ------------------------------------------------------------------------------------------------------ */

static int same_bytes(const struct bl_input_file file[2], const char *const path[2], const struct bl_cancel *cancel,
                      bool *same, struct bl_error *e)
{
    const int64_t size = file[0].status.st_size;
    char one[PIECE], two[PIECE];
    *same = true;
    for (int64_t at = 0; at < size && *same; at += (int64_t)PIECE) {
        size_t piece = size - at < (int64_t)PIECE ? (size_t)(size - at) : PIECE;
        if (cancel && bl_cancelled(cancel))
            return BL_ECANCEL;
        int code = bl_io_pread(file[0].fd, one, piece, file[0].begin + at, path[0], e);
        if (!code)
            code = bl_io_pread(file[1].fd, two, piece, file[1].begin + at, path[1], e);
        if (code)
            return code;
        *same = memcmp(one, two, piece) == 0;
    }
    return BL_OK;
}

static int same_files(const char *const path[2], const struct bl_cancel *cancel, bool *same, struct bl_error *e)
{
    struct bl_input_file file[2] = {{.fd = -1}, {.fd = -1}};
    int code = BL_OK;
    *same = false;
    for (int i = 0; i < 2 && !code; i++) {
        if (bl_input_file_open(&file[i], path[i]) != 0)
            code = bl_error_errno(e, BL_EFAIL, "--dedup compares files, and cannot open %s", path[i]);
    }
    if (!code && file[0].status.st_size == file[1].status.st_size)
        code = same_bytes(file, path, cancel, same, e);
    for (int i = 0; i < 2; i++)
        bl_input_file_close(&file[i]);
    return code;
}

/* --- folders ---------------------------------------------------------------------------------------------------- */

static int folder_takes(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static bool path_is_folder(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* Files of the same name in two folders. Folders in them belong to other sequences. */
static int same_entries(const char *const folder[2], const char *name, const struct bl_cancel *cancel, bool *same,
                        struct bl_error *e)
{
    char *one = bl_path_join(folder[0], name), *two = bl_path_join(folder[1], name);
    int code = one && two ? BL_OK : bl_error_memory(e);
    if (code)
        goto out;
    *same = path_is_folder(one) == path_is_folder(two);
    if (*same && !path_is_folder(one))
        code = same_files((const char *const[]){one, two}, cancel, same, e);
out:
    free(one);
    free(two);
    return code;
}

static int same_folders(const char *const path[2], const struct bl_cancel *cancel, bool *same, struct bl_error *e)
{
    struct dirent **entry[2] = {NULL, NULL};
    int count[2] = {0, 0}, code = BL_OK;
    for (int i = 0; i < 2 && !code; i++) {
        count[i] = scandir(path[i], &entry[i], folder_takes, alphasort);
        if (count[i] < 0)
            code = bl_error_errno(e, BL_EFAIL, "cannot read the directory %s", path[i]);
    }
    *same = count[0] == count[1];
    for (int i = 0; i < count[0] && *same && !code; i++) {
        *same = strcmp(entry[0][i]->d_name, entry[1][i]->d_name) == 0;
        if (*same)
            code = same_entries(path, entry[0][i]->d_name, cancel, same, e);
    }
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < count[k]; i++)
            free(entry[k][i]);
        free(entry[k]);
    }
    return code;
}

/* --- rows ------------------------------------------------------------------------------------------------------- */

bool bl_same_content_is_document(const struct bl_row *row)
{
    const struct bl_kind *kind = bl_kind_find(row->kind);
    return kind && kind->scan->chunk_bytes;
}

int bl_same_content(const struct bl_row *a, const struct bl_row *b, const char *base, const struct bl_cancel *cancel,
                    bool *same, struct bl_error *e)
{
    *same = same_place(a, b);
    if (*same && bl_same_content_is_document(a))
        *same = a->length == b->length;
    else if (*same && strcmp(a->path, b->path) != 0) {
        char *one = bl_path_join(base, a->path), *two = bl_path_join(base, b->path);
        const char *const path[] = {one, two};
        int code = one && two ? BL_OK : bl_error_memory(e);
        if (!code)
            code = path_is_folder(one) && path_is_folder(two) ? same_folders(path, cancel, same, e)
                                                              : same_files(path, cancel, same, e);
        free(one);
        free(two);
        return code;
    }
    return BL_OK;
}
