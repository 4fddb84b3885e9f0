/* Archives by their first bytes, members of tars by their places, and arrays by their names in a file.
 *
 * A format is recognized only if its first bytes cannot be those of a text or of media: a text may begin with "BZh" or
 * "PAR1", so that further bytes of these formats are compared. Tests with arithmetic come after the constants. */
#include "base/archive.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <xxhash.h>

#include "base/fs.h"
#include "base/text.h"

/* --- recognizing archives ----------------------------------------------------------------------------------------- */

#define UNPACK ": unpack it first"            /* ends a reason: it holds files */
#define EXPORT ": export what is in it first" /* ends a reason: it holds rows or objects */

#define TAR_CHECKSUM 148 /* offset of the checksum in the first block, in octal digits */
#define TAR_DIGITS 8     /* bytes of the checksum's field */
#define CPIO_OLD_HEAD 26 /* bytes of the header with 16-bit numbers, before the name */

/* Formats that a constant at a fixed offset identifies: offset and size in bytes, the constant, and the reason. Formats
 * that need arithmetic have a function below. */
static const struct mark {
    size_t at, size; /* bytes: the offset of the constant in the file, and its size */
    const char *bytes, *reason;
} marks[] = {
    {0, 4, "PK\3\4", "a zip archive" UNPACK},
    {0, 4, "PK\5\6", "a zip archive" UNPACK},
    {0, 4, "PK\7\10", "a zip archive" UNPACK},
    {0, 6, "7z\xbc\xaf\x27\x1c", "a 7z archive" UNPACK},
    {0, 6, "Rar!\x1a\7", "a rar archive" UNPACK},
    {0, 8, "!<arch>\n", "an ar archive" UNPACK},
    {0, 3, "\x1f\x8b\x08", "compressed by gzip" UNPACK},
    {0, 6, "\xfd\x37zXZ\0", "compressed by xz" UNPACK},
    {0, 4, "\x28\xb5\x2f\xfd", "compressed by zstd" UNPACK},
    {0, 4, "\x04\x22\x4d\x18", "compressed by lz4" UNPACK},
    {0, 4, "\x02\x21\x4c\x18", "compressed by lz4" UNPACK},
    {0, 5, "PAR1\x15", "a Parquet file" EXPORT},
    {0, 8, "\x89HDF\r\n\x1a\n", "an HDF5 file" EXPORT},
    {0, 8, "ARROW1\0\0", "an Arrow file" EXPORT},
    {0, 8, "FEA1\0\0\0\0", "an Arrow file" EXPORT},
    {0, 19, "MATLAB 7.3 MAT-file", "a MATLAB file" EXPORT},
    {0, 19, "MATLAB 5.0 MAT-file", "a MATLAB file" EXPORT},
    {0, 16, "SQLite format 3\0", "an SQLite database" EXPORT},
    {16, 4, "\xde\xc0\xef\xbe", "an LMDB database" EXPORT},
};

/* A bzip2 file begins with its mark, a digit for the compression level, and the mark of the first block. */
static bool head_is_bzip2(const uint8_t *head, size_t size)
{
    return size >= 10 && memcmp(head, "BZh", 3) == 0 && memcmp(head + 4, "1AY&SY", 6) == 0;
}

/* All of these formats store numbers with the low byte first. */
static uint32_t head_u32(const uint8_t *at)
{
    return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

/* Every tar format, even the oldest, stores the sum of the bytes of its first block (POSIX ustar). The bytes of the
 * checksum count as blanks. Some writers summed bytes above 127 as negative numbers, so that both sums are accepted. */
static bool head_is_tar(const uint8_t *head, size_t size)
{
    long claimed = 0, plain = 0, negative = 0, digits = 0;
    if (size < BL_ARCHIVE_HEAD)
        return false;
    for (size_t i = TAR_CHECKSUM; i < TAR_CHECKSUM + TAR_DIGITS; i++) {
        bool digit = head[i] >= '0' && head[i] <= '7';
        /* Digits end with a NUL or a blank; blanks may come before them. */
        if (!digit && digits)
            break;
        if (!digit && head[i] != ' ')
            return false;
        claimed = claimed * 8 + (digit ? head[i] - '0' : 0);
        digits += digit;
    }
    for (size_t i = 0; i < BL_ARCHIVE_HEAD; i++) {
        bool own = i >= TAR_CHECKSUM && i < TAR_CHECKSUM + TAR_DIGITS;
        plain += own ? ' ' : head[i];
        negative += own ? ' ' : (int8_t)head[i];
    }
    return digits && (claimed == plain || claimed == negative);
}

/* Returns whether each of the bytes is a character of the set. A NUL is none. */
static bool text_has_only(const uint8_t *text, size_t size, const char *set)
{
    for (size_t i = 0; i < size; i++) {
        if (!text[i] || !strchr(set, text[i]))
            return false;
    }
    return true;
}

/* Three formats of cpio: "newc" and "crc" with 8 hexadecimal digits per number, "odc" with octal digits, and the old
 * binary one with 16-bit numbers and a name that ends with its first NUL. */
static bool head_is_cpio(const uint8_t *head, size_t size)
{
    if (size >= 110 && (memcmp(head, "070701", 6) == 0 || memcmp(head, "070702", 6) == 0))
        return text_has_only(head, 110, "0123456789abcdefABCDEF");
    if (size >= 76 && memcmp(head, "070707", 6) == 0)
        return text_has_only(head, 76, "01234567");
    if (size <= CPIO_OLD_HEAD || memcmp(head, "\xc7\x71", 2) != 0)
        return false;
    /* 26 bytes of header, then the name with its NUL, whose size is in bytes 20 and 21. */
    size_t end = CPIO_OLD_HEAD + (head[20] | (size_t)head[21] << 8); /* after the name */
    return end > CPIO_OLD_HEAD + 1 && end <= size &&
           memchr(head + CPIO_OLD_HEAD, 0, size - CPIO_OLD_HEAD) == head + end - 1;
}

/* A stream of Arrow messages (IPC format): the mark ffffffff, the size of the first message, a multiple of 8, and the
 * offset of its FlatBuffers table. */
static bool head_is_arrow_stream(const uint8_t *head, size_t size)
{
    if (size < 12 || head_u32(head) != UINT32_MAX)
        return false;
    uint32_t bytes = head_u32(head + 4), table = head_u32(head + 8);
    return bytes && bytes % 8 == 0 && bytes < UINT32_C(1) << 24 && table >= 4 && table <= 64;
}

/* A TFRecord begins with the length of the first record, in 64 bits, and the masked CRC-32C of these 8 bytes. The mask
 * rotates the CRC by 15 bits and adds a constant. The loop takes one bit a step: it runs over 8 bytes of a file. */
static bool head_is_tfrecord(const uint8_t *head, size_t size)
{
    if (size < 12 || head_u32(head + 4) != 0)
        return false;
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < 8; i++) {
        crc ^= head[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc & 1 ? crc >> 1 ^ UINT32_C(0x82f63b78) : crc >> 1;
    }
    crc = ~crc;
    /* The first record has content: a file of zeros is no TFRecord. */
    return head_u32(head) && (crc >> 15 | crc << 17) + UINT32_C(0xa282ead8) == head_u32(head + 8);
}

/* A pickle begins with the opcode PROTO (0x80) and its protocol, 2 to 5. From protocol 4 on the opcode FRAME (0x95)
 * follows; before protocol 4, the first opcode of the content follows, such as ] for a list. */
static bool head_is_pickle(const uint8_t *head, size_t size)
{
    if (size < 4 || head[0] != 0x80 || head[1] < 2 || head[1] > 5)
        return false;
    return head[1] >= 4 ? head[2] == 0x95 : head[2] && strchr("]}()c\x8aKJMUX", head[2]);
}

const char *bl_archive_detect(const void *head, size_t size)
{
    /* These run after all constants have failed, because they cost more. */
    static const struct {
        bool (*matches)(const uint8_t *head, size_t size);
        const char *reason;
    } tests[] = {
        {head_is_tar, "a tar archive" UNPACK},        {head_is_bzip2, "compressed by bzip2" UNPACK},
        {head_is_cpio, "a cpio archive" UNPACK},      {head_is_arrow_stream, "an Arrow file" EXPORT},
        {head_is_tfrecord, "a TFRecord file" EXPORT}, {head_is_pickle, "a pickle" EXPORT},
    };
    const uint8_t *bytes = head;
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        const struct mark *m = &marks[i];
        if (size >= m->at + m->size && memcmp(bytes + m->at, m->bytes, m->size) == 0)
            return m->reason;
    }
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        if (tests[i].matches(bytes, size))
            return tests[i].reason;
    }
    return NULL;
}

/* --- members of a tar --------------------------------------------------------------------------------------------- */

#define MARK ".tar@" /* separates the tar's path from the member's place: "data.tar@1536+48213/a.mp4" */

/* Reads a number up to the character `end`, and moves *at behind that. INT64_MAX / 2 keeps begin + bytes within 64
 * bits. */
static bool member_read_number(const char **at, char end, int64_t *number)
{
    size_t digits = strspn(*at, "0123456789");
    if (!digits || (*at)[digits] != end || !bl_text_to_int(*at, digits, 0, INT64_MAX / 2, number))
        return false;
    *at += digits + 1;
    return true;
}

bool bl_member_parse(const char *path, struct bl_member *member)
{
    /* A folder may contain ".tar@" in its own name, so that the search goes on until a place follows. */
    for (const char *mark = path; (mark = strstr(mark, MARK)); mark++) {
        const char *at = mark + strlen(MARK);
        if (member_read_number(&at, '+', &member->begin) && member_read_number(&at, '/', &member->bytes) && *at) {
            member->tar = (size_t)(mark - path) + strlen(MARK) - 1;
            member->name = at;
            return true;
        }
    }
    return false;
}

const char *bl_member_file(const char *path, char buffer[PATH_MAX])
{
    struct bl_member member;
    size_t size;
    /* The member of a tar may hold arrays itself: then the tar is the file. */
    if (bl_member_parse(path, &member))
        size = member.tar;
    else if (!bl_container_array(path, &size))
        return path;
    if (size >= PATH_MAX) {
        errno = ENAMETOOLONG;
        /* The file's path is a part of the path, and open() needs a NUL behind it. */
        return NULL;
    }
    memcpy(buffer, path, size);
    buffer[size] = '\0';
    return buffer;
}

void bl_member_append(struct bl_buffer *out, const char *tar, int64_t begin, int64_t bytes, const char *name)
{
    bl_buffer_printf(out, "%s@%" PRId64 "+%" PRId64 "/%s", tar, begin, bytes, name);
}

/* "images/0001.seg.npy" has the key "images/0001". A hidden name begins with its dot and has no key. */
size_t bl_member_key(const char *name)
{
    const char *last = bl_path_name(name), *dot = strchr(last, '.');
    return dot && dot > last && dot[1] ? (size_t)(dot - name) : 0;
}

/* --- arrays of a file --------------------------------------------------------------------------------------------- */

static const char *const container_extensions[] = {"safetensors", "h5", "hdf5", "mat", NULL};

bool bl_container_has_name(const char *path)
{
    return bl_path_has_extension(path, container_extensions);
}

const char *bl_container_array(const char *path, size_t *file)
{
    /* Folders and arrays may have "#/" in their names: the first one behind such a file counts. */
    for (const char *mark = path; (mark = strstr(mark, "#/")); mark++) {
        for (int i = 0; container_extensions[i]; i++) {
            size_t tail = strlen(container_extensions[i]), size = (size_t)(mark - path);
            if (size <= tail + 1 || mark[-(ptrdiff_t)tail - 1] != '.' || !mark[2] ||
                strncasecmp(mark - tail, container_extensions[i], tail) != 0)
                continue;
            *file = size;
            return mark + 2;
        }
    }
    return NULL;
}

/* --- index of members --------------------------------------------------------------------------------------------- */

/* Returns the hash of the tar's path, the key and the extension. The tar's path is part of the hash, since many tars
 * often have members of the same names (0001.jpg in each shard). */
static uint64_t member_hash(const char *tar, size_t tar_size, const char *key, size_t key_size, const char *extension)
{
    uint64_t hash = XXH3_64bits(tar, tar_size);
    hash = XXH3_64bits_withSeed(key, key_size, hash);
    return XXH3_64bits_withSeed(extension, strlen(extension), hash);
}

int bl_member_index_add_tar(struct bl_member_index *index, const char *path, struct bl_error *e)
{
    BL_TRY(BL_ARRAY_RESERVE(index->tar, index->tar_capacity, index->tars + 1, e));
    index->tar[index->tars++] = index->text.size;
    bl_buffer_append(&index->text, path, strlen(path) + 1);
    return bl_buffer_check(&index->text, e);
}

/* The tar that was added last owns the member; both are stored as numbers, because the arrays move. */
int bl_member_index_add(struct bl_member_index *index, const char *name, int64_t begin, int64_t bytes,
                        struct bl_error *e)
{
    const char *tar = index->text.data + index->tar[index->tars - 1];
    const size_t key = bl_member_key(name);
    BL_TRY(BL_ARRAY_RESERVE(index->member, index->capacity, index->members + 1, e));
    BL_TRY(bl_hash_add(&index->by_name, member_hash(tar, strlen(tar), name, key, name + key + (key > 0)),
                       index->members, e));
    index->member[index->members++] = (struct bl_member_entry){
        .tar = (uint32_t)index->tars - 1, .name = index->text.size, .begin = begin, .bytes = bytes};
    bl_buffer_append(&index->text, name, strlen(name) + 1);
    return bl_buffer_check(&index->text, e);
}

const struct bl_member_entry *bl_member_index_beside(const struct bl_member_index *index, const char *path,
                                                     const char *extension)
{
    struct bl_member m;
    if (!bl_member_parse(path, &m))
        return NULL;
    size_t size = bl_member_key(m.name), number;
    if (!size)
        return NULL;
    /* The extension is all that follows the key, so that "seg.npy" and "npy" are different members. */
    uint64_t hash = member_hash(path, m.tar, m.name, size, extension);
    /* Equal hashes are compared by name and tar. */
    for (struct bl_hash_probe probe = bl_hash_begin(&index->by_name, hash);
         bl_hash_next(&index->by_name, &probe, &number);) {
        const struct bl_member_entry *entry = &index->member[number];
        const char *tar = index->text.data + index->tar[entry->tar], *name = index->text.data + entry->name;
        if (strncmp(name, m.name, size) == 0 && name[size] == '.' && strcmp(name + size + 1, extension) == 0 &&
            strncmp(tar, path, m.tar) == 0 && !tar[m.tar])
            return entry;
    }
    return NULL;
}

void bl_member_index_append(const struct bl_member_index *index, const struct bl_member_entry *member,
                            struct bl_buffer *out)
{
    bl_member_append(out, index->text.data + index->tar[member->tar], member->begin, member->bytes,
                     index->text.data + member->name);
}

void bl_member_index_free(struct bl_member_index *index)
{
    bl_buffer_free(&index->text);
    free(index->tar);
    free(index->member);
    bl_hash_free(&index->by_name);
    *index = (struct bl_member_index){0};
}
