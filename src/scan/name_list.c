/* Reads lists of names.
 *
 * A compressed list, and one that is an object, is first copied into an unnamed file, as lines are read from a
 * descriptor. */
#include "scan/name_list.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fs.h"
#include "base/input_file.h"
#include "base/instream.h"
#include "base/output.h"

#define NAME_MAX_SIZE ((size_t)64 << 10) /* bytes of a name: more than any system opens */
#define LIST_MAX_SIZE ((int64_t)4 << 30) /* bytes of a list that is copied */
#define LIST_CHUNK ((size_t)256 << 10)

/* Copies the list, decompressed, into an unnamed file, and sets *fd to it. */
static int list_copy(const struct bl_name_list *list, int *fd, struct bl_error *e)
{
    struct bl_instream *stream = NULL;
    char *data = malloc(LIST_CHUNK);
    int64_t all = 0;
    size_t got = 1;
    *fd = -1;
    int code = data ? bl_instream_open(&stream, list->path, 0, NULL, e) : bl_error_memory(e);
    if (!code) {
        *fd = bl_temporary_open(NULL, e);
        code = *fd < 0 ? *fd : BL_OK;
    }
    while (!code && got) {
        code = bl_instream_read(stream, data, LIST_CHUNK, &got, e);
        all += (int64_t)got;
        if (!code && all > LIST_MAX_SIZE)
            code = bl_error_set(e, BL_EFAIL, "%s: a list has at most %" PRId64 " bytes, decompressed", list->shown,
                                LIST_MAX_SIZE);
        if (!code)
            code = bl_io_write(*fd, data, got, "the copy of a list", e);
    }
    if (stream)
        bl_instream_close(stream);
    free(data);
    if (!code && lseek(*fd, 0, SEEK_SET) != 0)
        code = bl_error_errno(e, BL_EFAIL, "cannot seek in the copy of %s", list->shown);
    if (code && *fd >= 0)
        close(*fd);
    return code;
}

int bl_name_list_open(struct bl_name_list *list, const char *base, const char *name, struct bl_error *e)
{
    struct bl_error fault = {0};
    int fd = -1, code = BL_OK;
    *list = (struct bl_name_list){.shown = name, .is_far = bl_far_is(name), .path = bl_path_join(base, name)};
    if (!list->path)
        return bl_error_memory(e);
    if (list->is_far || bl_path_has_suffix(name, ".gz") || bl_path_has_suffix(name, ".zst")) {
        code = list_copy(list, &fd, &fault);
        if (!code)
            code = bl_lines_take_list(&list->lines, fd, list->shown, &fault);
    } else {
        code = bl_lines_open_list(&list->lines, list->path, &fault);
    }
    if (!code)
        return BL_OK;
    free(list->path);
    /* Nothing is an input yet that could be skipped. */
    return code == BL_EDATA ? bl_error_set(e, BL_EUSAGE, "%s: %s", name, fault.text) : bl_error_pass(e, code, &fault);
}

int bl_name_list_next(struct bl_name_list *list, char **name, int *line, struct bl_error *e)
{
    size_t size = 0;
    bool ended;
    for (;;) {
        BL_TRY(bl_lines_next(&list->lines, name, &size, &ended, e));
        if (!*name)
            return BL_OK;
        list->line += list->line < INT_MAX;
        *line = list->line;
        /* Lists that were written on Windows end lines with a carriage return, too. */
        if (list->lines.mark == '\n' && size && (*name)[size - 1] == '\r')
            (*name)[--size] = '\0';
        if (size > NAME_MAX_SIZE || strlen(*name) != size)
            return bl_error_set(e, BL_EFAIL, "%s:%d: %s", list->lines.path, list->line,
                                size > NAME_MAX_SIZE ? "too long for a name: not a list of files"
                                                     : "a zero byte in a list with line ends");
        if (size)
            return BL_OK;
    }
}

void bl_name_list_close(struct bl_name_list *list)
{
    bl_lines_close(&list->lines);
    free(list->path);
}
