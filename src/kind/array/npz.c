/* The bytes of one array: from an NPY file, from a member of an NPZ archive, or from the inflated copy of one.
 *
 * The layers stand from the bottom to the top: libzip reads the archive through npz_source, npz_* finds and reads a
 * member, copy_* reads an inflated copy, and bl_array_file_* offers one read at an offset for all of them. Costs of a
 * read at an offset in an array of 1 GiB: NPY and stored members, one pread; deflated members, inflating everything
 * before it; a copy, one pread and the checksum of 16 KiB. */
#include "kind/array/npz.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zip.h>

#include "base/archive.h"
#include "base/fs.h"
#include "base/io.h"
#include "kind/array/choice.h"
#include "kind/array/hdf5.h"
#include "kind/array/tensors.h"

static void npz_close(struct bl_npz *z);

/* --- NPZ archive -------------------------------------------------------------------------------------------------- */

/* An NPZ archive is a ZIP file (ZIP64, too) whose members are NPY files, stored (numpy.savez) or deflated
 * (numpy.savez_compressed). Deflated members are read in order, in pieces, so that memory is bounded whatever the
 * archive claims; stored members are read at any place. */

#define DEFLATE_RATIO_MAX 1032 /* bytes that one deflated byte can become. Source: zlib, Technical Details */

struct bl_npz {
    zip_t *zip;
    zip_file_t *file;
    const struct bl_cancel *cancel;
    const char *path;
    struct bl_input_file input; /* its descriptor is the caller's */
    int64_t bytes, offset;      /* the size of the archive, and where in it libzip reads next */
    int system_errno;           /* of the read that failed, or 0; ESTALE: the file ended early */
    zip_error_t error;          /* the same for libzip */
    int64_t member_bytes;       /* of the array's NPY file, as the directory of the archive states */
    bool is_stored;
};

/* --- source of libzip --------------------------------------------------------------------------------------------- */

/* Reads for libzip. A cancel fails the read with ECANCELED: libzip may read for minutes in a damaged archive. A file
 * that ends before its size was truncated meanwhile. */
static zip_int64_t npz_source_read(struct bl_npz *z, void *data, size_t size)
{
    /* ESTALE is never returned by a read of a local file, so that it marks a file that became shorter. */
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

/* The source of libzip: the input file, also where it is a member of a tar. Only what reading needs is supported. */
static zip_int64_t npz_source(void *context, void *data, zip_uint64_t size, zip_source_cmd_t command)
{
    struct bl_npz *z = context;
    switch (command) {
    case ZIP_SOURCE_OPEN:
        z->offset = 0;
        return 0;
    case ZIP_SOURCE_READ:
        return npz_source_read(z, data, (size_t)size);
    case ZIP_SOURCE_SEEK: {
        /* libzip checks that the offset lies within the archive. */
        zip_int64_t to =
            zip_source_seek_compute_offset((zip_uint64_t)z->offset, (zip_uint64_t)z->bytes, data, size, &z->error);
        if (to < 0)
            return -1;
        z->offset = to;
        return 0;
    }
    case ZIP_SOURCE_TELL:
        return z->offset;
    case ZIP_SOURCE_STAT:
        /* The size is all that libzip needs to find the directory, which lies at the end of the archive. */
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

/* Reports why libzip failed: a cancel, a failing system, no memory, or otherwise a damaged archive. */
static int npz_error_set(const struct bl_npz *z, zip_error_t *error, struct bl_error *e)
{
    if (bl_cancelled(z->cancel))
        return bl_error_set(e, BL_ECANCEL, "cancelled");
    if (z->system_errno) {
        errno = z->system_errno;
        return bl_input_file_fail(z->path, "cannot be read", e);
    }
    if (zip_error_code_zip(error) == ZIP_ER_MEMORY)
        return bl_error_memory(e);
    return bl_error_set(e, BL_EDATA, "damaged archive: %s", zip_error_strerror(error));
}

/* --- members ---------------------------------------------------------------------------------------------------- */

/* Returns the size of a member's name without ".npy", or 0 if the member is no array. */
static size_t member_name_size(const char *member)
{
    size_t size = member ? strlen(member) : 0;
    return size > 4 && strcmp(member + size - 4, ".npy") == 0 ? size - 4 : 0;
}

/* numpy names the array "x" of member "x.npy"; users may write either. */
static bool member_is_named(const char *member, const char *name)
{
    size_t size = member_name_size(member);
    return (strlen(name) == size && memcmp(member, name, size) == 0) || strcmp(member, name) == 0;
}

/* Returns whether the archive was written by torch.save: a member data.pkl, which only unpickling could read. */
static bool npz_is_torch(const struct bl_npz *z)
{
    zip_int64_t members = zip_get_num_entries(z->zip, 0);
    for (zip_int64_t i = 0; i < members; i++) {
        const char *member = zip_get_name(z->zip, (zip_uint64_t)i, ZIP_FL_ENC_GUESS);
        if (member && bl_path_has_suffix(member, "/data.pkl"))
            return true;
    }
    return false;
}

/* Chooses the array, or returns BL_EDATA with the names that there are. Without a name, an archive of several arrays is
 * refused. */
static int npz_choose_member(struct bl_npz *z, const char *name, zip_int64_t *member, struct bl_error *e)
{
    struct bl_array_choice choice = {.name = name, .one = "an archive", .file = "the archive"};
    zip_int64_t members = zip_get_num_entries(z->zip, 0);
    for (zip_int64_t i = 0; i < members; i++) {
        /* ZIP_FL_ENC_GUESS turns names in the code page 437 into UTF-8. */
        const char *text = zip_get_name(z->zip, (zip_uint64_t)i, ZIP_FL_ENC_GUESS);
        size_t size = member_name_size(text);
        bool matches = size && (!name || member_is_named(text, name));
        if (matches)
            *member = i;
        if (size)
            bl_array_choice_add(&choice, text, size, matches);
    }
    int code = !choice.arrays && npz_is_torch(z) ? bl_error_set(e, BL_EDATA, "a file of torch.save" BL_ARRAYS_CONVERT)
                                                 : bl_array_choice_check(&choice, e);
    bl_array_choice_free(&choice);
    return code;
}

/* Checks that the directory's figures are possible and that the array can be read. An archive of 1 MiB that claims an
 * array of 1 TiB is refused before anything is allocated for it. */
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

/* Opens the archive in input, which stays the caller's, and finds the array of that name; NULL: the only one. path: for
 * messages. The caller closes *npz. BL_EDATA: no archive, no such array, or one of an impossible size; BL_EFAIL: it
 * cannot be read, or ends before `bytes`; BL_ECANCEL. */
static int npz_open(struct bl_npz **npz, const struct bl_input_file *input, int64_t bytes, const char *path,
                    const char *name, const struct bl_cancel *cancel, struct bl_error *e)
{
    zip_int64_t member = -1;
    struct bl_npz *z = calloc(1, sizeof *z);
    if (!z)
        return bl_error_memory(e);
    *z = (struct bl_npz){.cancel = cancel, .path = path, .input = *input, .bytes = bytes};
    zip_error_init(&z->error);
    zip_error_t error;
    /* `error` belongs to opening; z->error is what the source reports to libzip. */
    zip_error_init(&error);
    zip_source_t *source = zip_source_function_create(npz_source, z, &error);
    z->zip = source ? zip_open_from_source(source, ZIP_RDONLY, &error) : NULL;
    int code = z->zip ? BL_OK : npz_error_set(z, &error, e);
    /* libzip takes over the source only if it could open it. */
    if (source && !z->zip)
        zip_source_free(source);
    zip_error_fini(&error);
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
        npz_close(z);
    else
        *npz = z;
    return code;
}

static void npz_close(struct bl_npz *z)
{
    /* zip_discard frees the source, too. */
    if (z->file)
        zip_fclose(z->file); /* read only: nothing can be lost by it */
    if (z->zip)
        zip_discard(z->zip);
    zip_error_fini(&z->error);
    free(z);
}

/* Returns the bytes of the NPY file, as the archive's directory states them. */
static int64_t npz_bytes(const struct bl_npz *z)
{
    return z->member_bytes;
}

/* Returns whether the member is stored without compression. */
static bool npz_is_stored(const struct bl_npz *z)
{
    return z->is_stored;
}

/* Reads the next bytes, up to size. *got is less only at the end, where libzip has compared the checksum. BL_EDATA: the
 * member is damaged. */
static int npz_read(struct bl_npz *z, void *data, size_t size, size_t *got, struct bl_error *e)
{
    zip_int64_t n = 1;
    for (*got = 0; *got < size && n > 0; *got += (size_t)n) {
        n = zip_fread(z->file, (char *)data + *got, size - *got);
        if (n < 0)
            return npz_error_set(z, zip_file_get_error(z->file), e);
    }
    return BL_OK;
}

/* --- copy --------------------------------------------------------------------------------------------------------- */

#define COPY_WHAT "an inflated array"

/* The last unit of a copy is shorter. */
static size_t unit_size(int64_t left)
{
    return (size_t)(left < BL_ARRAY_COPY_UNIT ? left : BL_ARRAY_COPY_UNIT);
}

/* The checksum of each unit is kept in memory, 8 bytes for 16 KiB, so that a read can be checked without the rest. */
int bl_array_copy_put(struct bl_array_copy *copy, const uint8_t *data, int64_t size, const char *what,
                      struct bl_error *e)
{
    for (int64_t at = 0; at < size; at += BL_ARRAY_COPY_UNIT)
        copy->checksum[(copy->bytes + at) / BL_ARRAY_COPY_UNIT] = bl_checksum(data + at, unit_size(size - at));
    int code = bl_io_pwrite(copy->fd, data, (size_t)size, copy->begin + copy->bytes, what, e);
    if (!code)
        copy->bytes += size;
    return code;
}

/* Reads one unit completely and compares it with its checksum. */
static int copy_read_unit(const struct bl_array_copy *copy, int64_t unit, size_t size, uint8_t *data,
                          struct bl_error *e)
{
    int code = bl_io_pread(copy->fd, data, size, copy->begin + unit * BL_ARRAY_COPY_UNIT, COPY_WHAT, e);
    if (!code && bl_checksum(data, size) != copy->checksum[unit])
        code = bl_error_set(e, BL_EFAIL, COPY_WHAT ": what was read is not what was written: the disk or memory fails");
    return code;
}

/* Reads bytes of the copy, unit by unit. BL_EFAIL: a unit is not what was written. */
static int copy_read(const struct bl_array_copy *copy, uint8_t *data, size_t size, int64_t offset, struct bl_error *e)
{
    uint8_t part[BL_ARRAY_COPY_UNIT];
    for (size_t done = 0; done < size;) {
        int64_t unit = offset / BL_ARRAY_COPY_UNIT;
        size_t whole = unit_size(copy->bytes - unit * BL_ARRAY_COPY_UNIT), skip = (size_t)(offset % BL_ARRAY_COPY_UNIT);
        /* The part of this unit that the caller wants. */
        size_t n = whole - skip < size - done ? whole - skip : size - done;
        uint8_t *to = n == whole ? data + done : part; /* a whole unit is read to where it belongs */
        BL_TRY(copy_read_unit(copy, unit, whole, to, e));
        if (to == part)
            memcpy(data + done, part + skip, n);
        done += n;
        offset += (int64_t)n;
    }
    return BL_OK;
}

/* --- array file --------------------------------------------------------------------------------------------------- */

#define CHUNK ((size_t)8 << 20) /* bytes that are read at once: a cancel takes effect after at most one chunk */
#define SKIP ((size_t)64 << 10) /* bytes that are read at once only to be skipped; they lie on the stack */

/* Reads the next bytes of the NPY file; bl_npy_read reads the header through it. BL_EDATA: the array ends before. */
static int file_read_next(void *context, void *data, size_t size, struct bl_error *e)
{
    struct bl_array_file *f = context;
    int64_t bytes = f->npz ? npz_bytes(f->npz) : f->bytes;
    for (size_t done = 0, part; done < size; done += part) {
        if (bl_cancelled(f->cancel))
            return bl_error_set(e, BL_ECANCEL, "cancelled");
        part = size - done < CHUNK ? size - done : CHUNK;
        uint8_t *to = (uint8_t *)data + done;
        if ((int64_t)part > bytes - f->position)
            return bl_error_set(e, BL_EDATA, "truncated: it ends at byte %" PRId64, bytes);
        size_t got = part;
        BL_TRY(f->npz ? npz_read(f->npz, to, part, &got, e)
                      : bl_input_file_get(&f->input, to, part, f->position, f->path, e));
        if (got < part)
            return bl_error_set(e, BL_EDATA, "damaged archive: the array ends at byte %" PRId64,
                                f->position + (int64_t)got);
        f->position += (int64_t)part;
    }
    return BL_OK;
}

/* libzip cannot go back in a deflated member, so that the archive is opened again. */
int bl_array_file_rewind(struct bl_array_file *f, struct bl_error *e)
{
    if (f->npz)
        npz_close(f->npz);
    f->npz = NULL;
    f->position = 0;
    f->in_order = true;
    return npz_open(&f->npz, &f->input, f->bytes, f->path, f->member, f->cancel, e);
}

/* Decides by the first bytes what the file is; names may be wrong. "PK\5\6" begins an archive without members. */
static int file_open_content(struct bl_array_file *f, struct bl_error *e)
{
    uint8_t head[BL_ARCHIVE_HEAD] = {0};
    size_t size = f->bytes < (int64_t)sizeof head ? (size_t)f->bytes : sizeof head;
    if (!size)
        return bl_error_set(e, BL_EDATA, "empty file");
    BL_TRY(bl_input_file_get(&f->input, head, size, 0, f->path, e));
    if (memcmp(head, "PK\3\4", 4) == 0 || memcmp(head, "PK\5\6", 4) == 0)
        return bl_array_file_rewind(f, e);
    if (memcmp(head, BL_NPY_MAGIC, BL_NPY_MAGIC_SIZE) == 0)
        return BL_OK;
    f->is_placed = bl_tensors_are(f->path, head, size);
    if (f->is_placed)
        return bl_tensors_find(&f->input, f->bytes, f->path, f->member, &f->npy, e);
    /* The opcode PROTO and a protocol from 2 to 5 begin a pickle. */
    if (head[0] == 0x80 && head[1] >= 2 && head[1] <= 5)
        return bl_error_set(e, BL_EDATA, "a pickle, which is never read" BL_ARRAYS_CONVERT);
    if (size > 19 && memcmp(head, "MATLAB 5.0 MAT-file", 19) == 0)
        return bl_error_set(e, BL_EDATA, "a MATLAB file of version 5: save it with -v7.3" BL_ARRAYS_OR_CONVERT);
    const char *archive = bl_archive_detect(head, size);
    bool is_hdf5 = bl_hdf5_is(head, size);
    /* The name decides which process opens the file, and HDF5 allows other bytes before its own. */
    if (is_hdf5 && !bl_hdf5_has_name(f->path))
        return bl_error_set(e, BL_EDATA, "an HDF5 file: give it a name that ends with .h5, .hdf5 or .mat");
    if (is_hdf5 || (!archive && bl_hdf5_has_name(f->path))) {
        f->is_placed = true;
        return bl_hdf5_open(&f->hdf5, &f->input, f->bytes, f->path, f->member, f->cancel, &f->npy, e);
    }
    return bl_error_set(e, BL_EDATA, "%s",
                        archive ? archive : "no file of arrays: neither NPY, NPZ, safetensors nor HDF5");
}

/* Opens a regular file. With `bytes` the scan has seen the file before, so that a failure is the system's; without, a
 * file that cannot be opened makes a skipped row. */
static int file_open_regular(struct bl_array_file *f, int64_t bytes, struct bl_error *e)
{
    if (bl_input_file_open(&f->input, f->path) != 0) {
        if (bytes >= 0 || bl_errno_is_system(errno))
            return bl_input_file_fail(f->path, "cannot be opened", e);
        return bl_error_errno(e, BL_EDATA, "cannot be opened");
    }
    if (!S_ISREG(f->input.status.st_mode))
        return bl_error_set(e, BL_EDATA, "not a regular file");
    f->bytes = f->input.status.st_size;
    if (bytes >= 0 && f->bytes != bytes)
        return bl_error_set(e, BL_EFAIL, "%s: changed since the scan: %" PRId64 " bytes then, %" PRId64 " now", f->path,
                            bytes, f->bytes);
    return BL_OK;
}

/* Reads the header, and compares its promise with the bytes that are there. */
static int file_read_header(struct bl_array_file *f, struct bl_error *e)
{
    if (f->is_placed)
        return BL_OK;
    BL_TRY(bl_npy_read(&f->npy, file_read_next, f, e));
    /* Bytes may follow an array; numpy ignores them, and so does the reader. */
    int64_t there = (f->npz ? npz_bytes(f->npz) : f->bytes) - f->npy.begin;
    f->trailing = there - f->npy.bytes;
    if (f->trailing < 0)
        return bl_error_set(e, BL_EDATA,
                            "truncated: the header promises %" PRId64 " bytes of elements, %" PRId64 " are there",
                            f->npy.bytes, there);
    return BL_OK;
}

int bl_array_file_open(struct bl_array_file *f, const char *path, int64_t bytes, const char *member,
                       const struct bl_cancel *cancel, struct bl_error *e)
{
    size_t file;
    const char *array = bl_container_array(path, &file);
    *f = (struct bl_array_file){.path = path, .member = array ? array : member, .cancel = cancel, .input.fd = -1};
    int code = file_open_regular(f, bytes, e);
    if (code)
        goto out;
    code = file_open_content(f, e);
    if (code)
        goto out;
    code = file_read_header(f, e);
out:
    if (code)
        bl_array_file_close(f);
    return code;
}

void bl_array_file_close(struct bl_array_file *f)
{
    if (f->npz)
        npz_close(f->npz);
    if (f->hdf5)
        bl_hdf5_close(f->hdf5);
    bl_input_file_close(&f->input);
    f->npz = NULL;
    f->hdf5 = NULL;
}

/* Goes to a position in an archive: by a seek in a stored member, otherwise by reading what lies before it. */
static int file_seek_archive(struct bl_array_file *f, int64_t position, struct bl_error *e)
{
    uint8_t skipped[SKIP];
    if (position != f->position && npz_is_stored(f->npz)) {
        f->in_order = false;
        f->position = position;
        /* libzip verifies no checksum of a stored array after a seek. */
        return zip_fseek(f->npz->file, position, SEEK_SET) == 0
                   ? BL_OK
                   : npz_error_set(f->npz, zip_file_get_error(f->npz->file), e);
    }
    int code = position < f->position ? bl_array_file_rewind(f, e) : BL_OK;
    while (!code && f->position < position) {
        /* Inflating is the only way forward in a deflated member. */
        int64_t left = position - f->position;
        code = file_read_next(f, skipped, left < (int64_t)SKIP ? (size_t)left : SKIP, e);
    }
    return code;
}

int bl_array_file_read(struct bl_array_file *f, void *data, size_t size, int64_t offset, struct bl_error *e)
{
    if (f->hdf5)
        return bl_hdf5_read(f->hdf5, data, size, offset, e);
    /* The copy may end at damage; what lies behind is read from the archive, which reports the damage. */
    if (f->copy && offset + (int64_t)size <= f->copy->bytes) {
        for (size_t done = 0, part; done < size; done += part) {
            if (bl_cancelled(f->cancel))
                return bl_error_set(e, BL_ECANCEL, "cancelled");
            part = size - done < CHUNK ? size - done : CHUNK;
            BL_TRY(copy_read(f->copy, (uint8_t *)data + done, part, offset + (int64_t)done, e));
        }
        return BL_OK;
    }
    if (f->npz) {
        BL_TRY(file_seek_archive(f, f->npy.begin + offset, e));
    }
    f->position = f->npy.begin + offset;
    return file_read_next(f, data, size, e);
}

bool bl_array_file_is_deflated(const struct bl_array_file *f)
{
    return f->npz && !npz_is_stored(f->npz);
}

/* A stored array that was read at several places is read again from its beginning, since only a complete read in order
 * lets libzip compare the checksum. */
int bl_array_file_verify(struct bl_array_file *f, struct bl_error *e)
{
    uint8_t rest[SKIP];
    size_t got;
    if (!f->npz || (f->copy && f->copy->sound))
        return BL_OK;
    BL_TRY(f->in_order ? BL_OK : bl_array_file_rewind(f, e));
    do {
        BL_TRY(npz_read(f->npz, rest, sizeof rest, &got, e));
        f->position += (int64_t)got;
    } while (got);
    return BL_OK;
}
