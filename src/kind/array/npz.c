/* libzip reads through our own descriptor, so that it is certain whether the disk failed or the archive is damaged. */
#include "kind/array/npz.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zip.h>

#include "base/buffer.h"
#include "base/text.h"

#define DEFLATE_RATIO_MAX 1032 /* bytes that a deflated byte can become. Source: zlib, Technical Details */
#define NAMES_MAX 5            /* in messages */

struct bl_npz {
    zip_t *zip;
    zip_file_t *file;
    const struct bl_cancel *cancel;
    const char *path;
    struct bl_input_file input; /* its descriptor is the caller's */
    int64_t bytes, offset;      /* of the archive; where the next read begins */
    int system_errno;           /* of the read that failed, or 0; ESTALE: the file ended early */
    zip_error_t error;          /* the same for libzip */
    int64_t member_bytes;
    bool is_stored;
};

/* --- the descriptor as libzip sees it --------------------------------------------------------------------------- */

static zip_int64_t npz_source_read(struct bl_npz *z, void *data, size_t size)
{
    ssize_t got = -1;
    errno = ECANCELED;
    if (!bl_cancelled(z->cancel))
        got = bl_input_file_pread(&z->input, data, size, z->offset);
    if (got < 0 || (got == 0 && size && z->offset < z->bytes)) {
        z->system_errno = got < 0 ? errno : ESTALE;
        zip_error_set(&z->error, ZIP_ER_READ, z->system_errno);
        return -1;
    }
    z->offset += got;
    return got;
}

static zip_int64_t npz_source_seek(struct bl_npz *z, void *data, zip_uint64_t size)
{
    zip_int64_t to =
        zip_source_seek_compute_offset((zip_uint64_t)z->offset, (zip_uint64_t)z->bytes, data, size, &z->error);
    if (to < 0)
        return -1;
    z->offset = to;
    return 0;
}

static zip_int64_t npz_source(void *context, void *data, zip_uint64_t size, zip_source_cmd_t command)
{
    struct bl_npz *z = context;
    switch (command) {
    case ZIP_SOURCE_OPEN:
        z->offset = 0;
        return 0;
    case ZIP_SOURCE_READ:
        return npz_source_read(z, data, (size_t)size);
    case ZIP_SOURCE_SEEK:
        return npz_source_seek(z, data, size);
    case ZIP_SOURCE_TELL:
        return z->offset;
    case ZIP_SOURCE_STAT:
        zip_stat_init(data);
        ((zip_stat_t *)data)->size = (zip_uint64_t)z->bytes;
        ((zip_stat_t *)data)->valid = ZIP_STAT_SIZE;
        return sizeof(zip_stat_t);
    case ZIP_SOURCE_ERROR:
        return zip_error_to_data(&z->error, data, size);
    case ZIP_SOURCE_SUPPORTS:
        return ZIP_SOURCE_SUPPORTS_SEEKABLE;
    case ZIP_SOURCE_CLOSE:
    case ZIP_SOURCE_FREE:
        return 0;
    default:
        zip_error_set(&z->error, ZIP_ER_OPNOTSUPP, 0);
        return -1;
    }
}

/* Reports why libzip failed. */
static int npz_error_set(const struct bl_npz *z, zip_error_t *error, struct bl_error *e)
{
    if (bl_cancelled(z->cancel))
        return bl_error_set(e, BL_ECANCEL, "cancelled");
    if (z->system_errno) {
        errno = z->system_errno;
        return bl_error_errno(e, BL_EFAIL, "%s: cannot be read", z->path);
    }
    if (zip_error_code_zip(error) == ZIP_ER_MEMORY)
        return bl_error_memory(e);
    return bl_error_set(e, BL_EDATA, "damaged archive: %s", zip_error_strerror(error));
}

/* --- members ---------------------------------------------------------------------------------------------------- */

static int npz_open_archive(struct bl_npz *z, struct bl_error *e)
{
    zip_error_t error;
    zip_error_init(&error);
    zip_source_t *source = zip_source_function_create(npz_source, z, &error);
    z->zip = source ? zip_open_from_source(source, ZIP_RDONLY, &error) : NULL;
    int code = z->zip ? BL_OK : npz_error_set(z, &error, e);
    if (source && !z->zip)
        zip_source_free(source);
    zip_error_fini(&error);
    return code;
}

/* The size of a member's name without ".npy"; 0: it is no array. */
static size_t member_name_size(const char *member)
{
    size_t size = member ? strlen(member) : 0;
    return size > 4 && strcmp(member + size - 4, ".npy") == 0 ? size - 4 : 0;
}

static bool member_is_named(const char *member, const char *name)
{
    size_t size = member_name_size(member);
    return (strlen(name) == size && memcmp(member, name, size) == 0) || strcmp(member, name) == 0;
}

/* Finds the member of that name; without a name, the last array. *arrays counts them; names lists the first. */
static zip_int64_t npz_find_member(const struct bl_npz *z, const char *name, int64_t *arrays, struct bl_buffer *names)
{
    zip_int64_t found = -1, members = zip_get_num_entries(z->zip, 0);
    for (zip_int64_t i = 0; i < members; i++) {
        const char *member = zip_get_name(z->zip, (zip_uint64_t)i, ZIP_FL_ENC_GUESS);
        size_t size = member_name_size(member);
        if (!size)
            continue;
        if (!name || member_is_named(member, name))
            found = i;
        if (++*arrays > NAMES_MAX)
            continue;
        bl_buffer_text(names, *arrays > 1 ? ", " : "");
        bl_text_escape(names, member, size);
    }
    return found;
}

static int npz_choose_member(struct bl_npz *z, const char *name, zip_int64_t *member, struct bl_error *e)
{
    struct bl_buffer names = {0};
    int64_t arrays = 0;
    *member = npz_find_member(z, name, &arrays, &names);
    const char *more = arrays > NAMES_MAX ? "..." : "";
    int code = bl_buffer_check(&names, e);
    if (code)
        goto out;
    if (!arrays)
        code = bl_error_set(e, BL_EDATA, "an archive without arrays");
    else if (*member < 0)
        code = bl_error_set(e, BL_EDATA, "no array \"%s\" in the archive, but %s%s", name, names.data, more);
    else if (!name && arrays > 1)
        code =
            bl_error_set(e, BL_EDATA, "%" PRId64 " arrays (%s%s): choose one with --array", arrays, names.data, more);
out:
    bl_buffer_free(&names);
    return code;
}

/* Checks that the directory's figures are possible, and that the array can be read. */
static int npz_check_member(struct bl_npz *z, zip_uint64_t member, struct bl_error *e)
{
    const zip_uint64_t needed = ZIP_STAT_SIZE | ZIP_STAT_COMP_METHOD | ZIP_STAT_ENCRYPTION_METHOD;
    zip_stat_t status;
    if (zip_stat_index(z->zip, member, 0, &status) != 0 || (status.valid & needed) != needed)
        return npz_error_set(z, zip_get_error(z->zip), e);
    if (status.encryption_method != ZIP_EM_NONE)
        return bl_error_set(e, BL_EDATA, "an array that is encrypted");
    if (status.comp_method != ZIP_CM_STORE && status.comp_method != ZIP_CM_DEFLATE)
        return bl_error_set(e, BL_EDATA, "an array that is neither stored nor deflated");
    if (status.size / DEFLATE_RATIO_MAX > (zip_uint64_t)z->bytes)
        return bl_error_set(e, BL_EDATA, "damaged archive: an array of %" PRIu64 " bytes in a file of %" PRId64,
                            status.size, z->bytes);
    z->is_stored = status.comp_method == ZIP_CM_STORE;
    z->member_bytes = (int64_t)status.size;
    return BL_OK;
}

int bl_npz_open(struct bl_npz **npz, const struct bl_input_file *input, int64_t bytes, const char *path,
                const char *name, const struct bl_cancel *cancel, struct bl_error *e)
{
    zip_int64_t member = -1;
    struct bl_npz *z = calloc(1, sizeof *z);
    if (!z)
        return bl_error_memory(e);
    *z = (struct bl_npz){.cancel = cancel, .path = path, .input = *input, .bytes = bytes};
    zip_error_init(&z->error);
    int code = npz_open_archive(z, e);
    if (code)
        goto out;
    code = npz_choose_member(z, name, &member, e);
    if (code)
        goto out;
    code = npz_check_member(z, (zip_uint64_t)member, e);
    if (code)
        goto out;
    z->file = zip_fopen_index(z->zip, (zip_uint64_t)member, 0);
    if (!z->file)
        code = npz_error_set(z, zip_get_error(z->zip), e);
out:
    if (code)
        bl_npz_close(z);
    else
        *npz = z;
    return code;
}

void bl_npz_close(struct bl_npz *z)
{
    if (z->file)
        zip_fclose(z->file); /* read only: nothing can be lost by it */
    if (z->zip)
        zip_discard(z->zip);
    zip_error_fini(&z->error);
    free(z);
}

int64_t bl_npz_bytes(const struct bl_npz *z)
{
    return z->member_bytes;
}

bool bl_npz_is_stored(const struct bl_npz *z)
{
    return z->is_stored;
}

int bl_npz_seek(struct bl_npz *z, int64_t offset, struct bl_error *e)
{
    return zip_fseek(z->file, offset, SEEK_SET) == 0 ? BL_OK : npz_error_set(z, zip_file_get_error(z->file), e);
}

int bl_npz_read(struct bl_npz *z, void *data, size_t size, size_t *got, struct bl_error *e)
{
    zip_int64_t n = 1;
    for (*got = 0; *got < size && n > 0; *got += (size_t)n) {
        n = zip_fread(z->file, (char *)data + *got, size - *got);
        if (n < 0)
            return npz_error_set(z, zip_file_get_error(z->file), e);
    }
    return BL_OK;
}
