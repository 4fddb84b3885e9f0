/* Opens files of datasets: of the disk without waiting for a pipe or a device, or copies of objects. */
#include "store/dataset_file.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "base/fs.h"

int bl_dataset_file_open(struct bl_input_file *file, const char *path, struct bl_error *e)
{
    if (bl_far_is(path))
        return bl_input_file_open_whole(file, path) ? bl_opener_fail("cannot open", path, BL_EFAIL, e) : BL_OK;
    *file = (struct bl_input_file){.fd = bl_regular_open(path, e)};
    if (file->fd < 0) {
        int code = file->fd;
        file->fd = -1;
        return code;
    }
    if (fstat(file->fd, &file->status) == 0)
        return BL_OK;
    int code = bl_error_errno(e, BL_EFAIL, "cannot stat %s", path);
    bl_input_file_close(file);
    return code;
}

int bl_dataset_file_find(const char *dir, const char *name, bool *found, struct bl_error *e)
{
    char *path = bl_path_join(dir, name);
    *found = false;
    int code = path ? bl_input_file_exists(path, found, e) : bl_error_memory(e);
    free(path);
    return code;
}

int bl_dataset_file_read(const char *path, size_t max, struct bl_buffer *out, struct bl_error *e)
{
    struct bl_input_file file;
    BL_TRY(bl_dataset_file_open(&file, path, e));
    int code = bl_io_read_all(file.fd, path, max, out, e);
    bl_input_file_close(&file);
    return code;
}

int bl_dataset_file_lines(struct bl_lines *lines, const char *path, struct bl_error *e)
{
    struct bl_input_file file;
    if (!bl_far_is(path))
        return bl_lines_open(lines, path, e);
    *lines = (struct bl_lines){.fd = -1};
    BL_TRY(bl_dataset_file_open(&file, path, e));
    return bl_lines_take(lines, file.fd, path, e); /* which closes the descriptor */
}

int bl_dataset_file_checksum(const char *path, int64_t *bytes, uint64_t *checksum, struct bl_error *e)
{
    struct bl_input_file file;
    BL_TRY(bl_dataset_file_open(&file, path, e));
    *bytes = file.status.st_size;
    int code = bl_checksum_range(file.fd, 0, *bytes, path, checksum, e);
    bl_input_file_close(&file);
    return code;
}
