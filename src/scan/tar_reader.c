#include "scan/tar_reader.h"

#include <inttypes.h>
#include <string.h>

#include "base/archive.h"
#include "base/io.h"
#include "base/text.h"

#define RECORDS_MAX (1 << 20) /* bytes of a pax header, or of a long name */
#define PADDING_MAX                                                                                                    \
    (256 << 10) /* bytes after the end that are looked at: tars are padded to a record, of 10 KiB mostly */
#define BYTES_MAX ((int64_t)1 << 60)

struct span {
    size_t at, size;
};

/* Fields of a header. Source: POSIX.1, pax, "ustar Header Block". */
static const struct span field_name = {0, 100}, field_size = {124, 12}, field_sum = {148, 8}, field_magic = {257, 6},
                         field_prefix = {345, 155};
#define FIELD_TYPE 156

/* --- blocks ------------------------------------------------------------------------------------------------------ */

/* Reads a block into the window; *block stays until the next call. The block lies in the file. */
static int tar_read_block(struct bl_tar_reader *r, int64_t at, const uint8_t **block, struct bl_error *e)
{
    int code = BL_OK;
    if (at < r->from || at + BL_TAR_BLOCK > r->to) {
        int64_t left = r->bytes - at;
        r->from = at;
        r->to = at + (left < BL_TAR_WINDOW ? left : BL_TAR_WINDOW);
        code = bl_io_pread(r->fd, r->window, (size_t)(r->to - at), at, r->path, e);
        if (code)
            r->to = r->from;
    }
    *block = r->window + (at - r->from);
    return code;
}

static bool block_is_zero(const uint8_t *block)
{
    return !block[0] && memcmp(block, block + 1, BL_TAR_BLOCK - 1) == 0;
}

static int64_t block_round_up(int64_t bytes)
{
    return (bytes + BL_TAR_BLOCK - 1) / BL_TAR_BLOCK * BL_TAR_BLOCK;
}

/* --- numbers ----------------------------------------------------------------------------------------------------- */

/* Octal digits between blanks and zero bytes; or, for GNU, a binary number, after a byte of 128. */
static bool field_number(const uint8_t *block, struct span field, int64_t *number)
{
    const uint8_t *at = block + field.at, *end = at + field.size;
    *number = 0;
    if (*at == 0x80) {
        while (++at<end && * number<BYTES_MAX>> 8)
            *number = *number << 8 | *at;
        return at == end;
    }
    while (at < end && *at == ' ')
        at++;
    for (; at < end && *at >= '0' && *at <= '7'; at++)
        *number = *number << 3 | (*at - '0');
    return at == end || *at == ' ' || !*at;
}

/* Some writers summed bytes above 127 as negative numbers. The checksum itself counts as blanks. */
static bool block_is_header(const uint8_t *block)
{
    int64_t claimed, plain = 0, negative = 0;
    for (size_t i = 0; i < BL_TAR_BLOCK; i++) {
        bool own = i >= field_sum.at && i < field_sum.at + field_sum.size;
        plain += own ? ' ' : block[i];
        negative += own ? ' ' : (int8_t)block[i];
    }
    return field_number(block, field_sum, &claimed) && (claimed == plain || claimed == negative);
}

/* --- what headers say of the member after them ------------------------------------------------------------------- */

static int tar_cut(const struct bl_tar_reader *r, const char *name, struct bl_error *e)
{
    return bl_error_set(e, BL_EDATA, "cut short at byte %" PRId64 ", in %.200s", r->bytes, name);
}

/* Appends what a header's own content is, which is small. */
static int tar_read_content(const struct bl_tar_reader *r, int64_t begin, int64_t bytes, struct bl_buffer *out,
                            struct bl_error *e)
{
    if (bytes > RECORDS_MAX)
        return bl_error_set(e, BL_EDATA, "damaged at byte %" PRId64 ": a header of %" PRId64 " bytes", begin, bytes);
    if (bytes > r->bytes - begin)
        return tar_cut(r, "a header", e);
    if (!bl_buffer_reserve(out, (size_t)bytes + 1))
        return bl_error_memory(e);
    int code = bl_io_pread(r->fd, out->data + out->size, (size_t)bytes, begin, r->path, e);
    if (code)
        return code;
    out->size += (size_t)bytes;
    out->data[out->size] = '\0';
    return BL_OK;
}

static int tar_set_name(struct bl_tar_reader *r, const char *name, size_t size, struct bl_error *e)
{
    bl_buffer_clear(&r->name);
    bl_buffer_append(&r->name, name, strnlen(name, size));
    r->named = true;
    return bl_buffer_check(&r->name, e);
}

static bool record_has_key(const char *record, size_t size, const char *key)
{
    return size > strlen(key) && memcmp(record, key, strlen(key)) == 0;
}

/* One "KEY=VALUE" of a pax header. */
static int tar_take_record(struct bl_tar_reader *r, const char *record, size_t size, struct bl_error *e)
{
    if (record_has_key(record, size, "path=") || record_has_key(record, size, "GNU.sparse.name=")) {
        const char *value = (const char *)memchr(record, '=', size) + 1;
        return tar_set_name(r, value, size - (size_t)(value - record), e);
    }
    r->sparse |= record_has_key(record, size, "GNU.sparse.");
    if (record_has_key(record, size, "size=") && !bl_text_to_int(record + 5, size - 5, 0, BYTES_MAX, &r->size))
        return bl_error_set(e, BL_EDATA, "damaged at byte %" PRId64 ": a size that is no number", r->at);
    return BL_OK;
}

/* "LENGTH KEY=VALUE\n" one after the other, where the length is that of all of it. */
static int tar_take_records(struct bl_tar_reader *r, const char *text, size_t size, struct bl_error *e)
{
    int code = BL_OK;
    for (size_t at = 0; at < size && text[at] && !code;) {
        size_t digits = strspn(text + at, "0123456789");
        int64_t length;
        if (!bl_text_to_int(text + at, digits, (int64_t)digits + 2, (int64_t)(size - at), &length) ||
            text[at + digits] != ' ' || text[at + (size_t)length - 1] != '\n')
            return bl_error_set(e, BL_EDATA, "damaged at byte %" PRId64 ": no valid pax header", r->at);
        code = tar_take_record(r, text + at + digits + 1, (size_t)length - digits - 2, e);
        at += (size_t)length;
    }
    return code;
}

/* Takes the content of a header that describes the next member: a pax header, or a long name of GNU's. */
static int tar_take_description(struct bl_tar_reader *r, char type, int64_t bytes, struct bl_error *e)
{
    struct bl_buffer text = {0};
    int code = tar_read_content(r, r->at + BL_TAR_BLOCK, bytes, &text, e);
    if (!code && type == 'L')
        code = tar_set_name(r, text.data, text.size, e);
    else if (!code)
        code = tar_take_records(r, text.data, text.size, e);
    bl_buffer_free(&text);
    return code;
}

/* --- members ------------------------------------------------------------------------------------------------------ */

/* The name that the header itself has. */
static int tar_take_name(struct bl_tar_reader *r, const uint8_t *block, struct bl_error *e)
{
    const char *text = (const char *)block;
    bl_buffer_clear(&r->name);
    if (memcmp(block + field_magic.at, "ustar", field_magic.size) == 0 && block[field_prefix.at]) {
        bl_buffer_append(&r->name, text + field_prefix.at, strnlen(text + field_prefix.at, field_prefix.size));
        bl_buffer_byte(&r->name, '/');
    }
    bl_buffer_append(&r->name, text + field_name.at, strnlen(text + field_name.at, field_name.size));
    return bl_buffer_check(&r->name, e);
}

/* Whether a folder of the path is "..". */
static bool name_leads_up(const char *name)
{
    for (const char *at = name; at; at = strchr(at, '/')) {
        at += *at == '/';
        if (strncmp(at, "..", 2) == 0 && (at[2] == '/' || !at[2]))
            return true;
    }
    return false;
}

static const char *member_why_unusable(const struct bl_tar_reader *r, char type, const char *name)
{
    switch (type) {
    case '1':
        return "a hard link";
    case '2':
        return "a symbolic link";
    case '3':
    case '4':
    case '6':
        return "a device or a pipe";
    case 'S':
        return "a sparse file";
    case 'M':
        return "a part of a file, of an archive in several volumes";
    case '\0':
    case '0':
    case '7':
        break;
    default:
        return "a member of an unknown type";
    }
    return r->sparse             ? "a sparse file"
           : name[0] == '/'      ? "an absolute path"
           : name_leads_up(name) ? "a path that leads out of its folder"
           : !*name              ? "a member without a name"
                                 : NULL;
}

/* Makes the member of its header at r->at, and goes past it. */
static int tar_take_member(struct bl_tar_reader *r, const uint8_t *block, int64_t bytes, struct bl_tar_member *member,
                           bool *is_folder, struct bl_error *e)
{
    char type = (char)block[FIELD_TYPE];
    int code = r->named ? BL_OK : tar_take_name(r, block, e);
    if (code)
        return code;
    const char *name = r->name.data ? r->name.data : "";
    while (strncmp(name, "./", 2) == 0)
        name += 2 + strspn(name + 2, "/");
    size_t size = strlen(name);
    bytes = r->size >= 0 ? r->size : bytes;
    *is_folder = type == '5' || type == 'D' || (type == '\0' && size && name[size - 1] == '/');
    *member = (struct bl_tar_member){
        .name = name, .begin = r->at + BL_TAR_BLOCK, .bytes = bytes, .unusable = member_why_unusable(r, type, name)};
    if (type >= '1' && type <= '6')
        bytes = 0; /* these have a size of what they name */
    if (bytes > r->bytes - member->begin)
        return tar_cut(r, name, e);
    r->at = member->begin + block_round_up(bytes);
    r->named = r->sparse = false;
    r->size = -1;
    return BL_OK;
}

/* The first block of zeros is the end. What was joined to the archive would be lost silently. */
static int tar_check_end(struct bl_tar_reader *r, struct bl_error *e)
{
    const int64_t end = r->at;
    const uint8_t *block;
    int code = BL_OK;
    for (; !code && r->at + BL_TAR_BLOCK <= r->bytes && r->at - end < PADDING_MAX; r->at += BL_TAR_BLOCK) {
        code = tar_read_block(r, r->at, &block, e);
        if (!code && !block_is_zero(block))
            return bl_error_set(e, BL_EDATA,
                                "its end is at byte %" PRId64 ", but more follows at byte %" PRId64
                                ", which is not read (were archives joined?)",
                                end, r->at);
    }
    return code;
}

static int tar_refuse_block(const struct bl_tar_reader *r, const uint8_t *block, size_t size, struct bl_error *e)
{
    const char *archive = r->at ? NULL : bl_archive_detect(block, size);
    if (archive)
        return bl_error_set(e, BL_EDATA, "no tar, but %s", archive);
    return r->at ? bl_error_set(e, BL_EDATA, "damaged: no header at byte %" PRId64, r->at)
                 : bl_error_set(e, BL_EDATA, "no tar archive");
}

/* No block is left. */
static int tar_refuse_end(const struct bl_tar_reader *r, struct bl_error *e)
{
    uint8_t head[BL_TAR_BLOCK];
    if (!r->bytes)
        return bl_error_set(e, BL_EDATA, "empty file");
    if (r->at)
        return bl_error_set(e, BL_EDATA, "cut short at byte %" PRId64 ": it has no end", r->bytes);
    int code = bl_io_pread(r->fd, head, (size_t)r->bytes, 0, r->path, e);
    return code ? code : tar_refuse_block(r, head, (size_t)r->bytes, e);
}

int bl_tar_reader_next(struct bl_tar_reader *r, struct bl_tar_member *member, bool *found, struct bl_error *e)
{
    bool is_folder = true;
    int code = BL_OK;
    r->size = -1;
    *found = false;
    while (!code && is_folder) {
        const uint8_t *block;
        int64_t bytes;
        if (r->bytes - r->at < BL_TAR_BLOCK)
            return tar_refuse_end(r, e);
        code = tar_read_block(r, r->at, &block, e);
        if (code)
            return code;
        if (block_is_zero(block))
            return tar_check_end(r, e);
        if (!block_is_header(block) || !field_number(block, field_size, &bytes))
            return tar_refuse_block(r, block, BL_TAR_BLOCK, e);
        char type = (char)block[FIELD_TYPE];
        if (type == 'L' || type == 'x' || type == 'X') {
            code = tar_take_description(r, type, bytes, e);
            r->at += BL_TAR_BLOCK + block_round_up(bytes);
        } else if (type == 'K' || type == 'g' || type == 'V') { /* of a link, of the archive */
            r->at += BL_TAR_BLOCK + block_round_up(bytes);
        } else {
            code = tar_take_member(r, block, bytes, member, &is_folder, e);
        }
    }
    *found = !code;
    return code;
}

void bl_tar_reader_free(struct bl_tar_reader *r)
{
    bl_buffer_free(&r->name);
}
