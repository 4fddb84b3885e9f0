/* Reads the headers of a tar, and keeps what they say in listings that other tasks read.
 *
 * A tar is a sequence of blocks of 512 bytes: a header, the content of the member, filled up to a block, the next
 * header, and at the end blocks of zeros. Only headers are read, one after the other. The header of this file has the
 * format of listings; for example, a listing without its seal is
 *
 *     bload tar 1: 10240 1719848400.123456789 shard.tar
 *     fault
 *     512 17 a.mp4
 *     1536 0 b.mp4<TAB>a symbolic link */
#include "scan/tar_reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/archive.h"
#include "base/checksum.h"
#include "base/input_file.h"
#include "base/io.h"
#include "base/output.h"
#include "base/text.h"

#define RECORDS_MAX (1 << 20) /* the most bytes of a pax header or of a long name */
/* Bytes after the end that are looked at: tars are padded to a record, of 10 KiB mostly. */
#define PADDING_MAX (256 << 10)
#define BYTES_MAX ((int64_t)1 << 60)

struct span {
    size_t at, size;
};

/* Fields of a header. Source: POSIX.1, pax, "ustar Header Block". */
static const struct span field_name = {0, 100}, field_size = {124, 12}, field_sum = {148, 8}, field_magic = {257, 6},
                         field_prefix = {345, 155};
#define FIELD_TYPE 156

/* --- blocks ------------------------------------------------------------------------------------------------------ */

/* Reads the block at byte `at`, which must lie in the file, through a window that is read at once. *block is valid
 * until the next call. */
static int tar_read_block(struct bl_tar_reader *r, int64_t at, const uint8_t **block, struct bl_error *e)
{
    int code = BL_OK;
    /* A window of many blocks saves calls where members are small. */
    if (at < r->from || at + BL_TAR_BLOCK > r->to) {
        int64_t left = r->bytes - at;
        r->from = at;
        r->to = at + (left < BL_TAR_WINDOW ? left : BL_TAR_WINDOW);
        code = bl_input_file_get(r->file, r->window, (size_t)(r->to - at), at, r->path, e);
        if (code)
            r->to = r->from;
    }
    *block = r->window + (at - r->from);
    return code;
}

/* Returns whether all bytes are 0: the first is, and each equals the one after it. */
static bool block_is_zero(const uint8_t *block)
{
    return !block[0] && memcmp(block, block + 1, BL_TAR_BLOCK - 1) == 0;
}

/* Rounds up to whole blocks. The bytes are at most BYTES_MAX, so the sum cannot overflow. */
static int64_t block_round_up(int64_t bytes)
{
    return (bytes + BL_TAR_BLOCK - 1) / BL_TAR_BLOCK * BL_TAR_BLOCK;
}

/* --- numbers ----------------------------------------------------------------------------------------------------- */

/* Parses a number of a header: octal digits between blanks and zero bytes, "0000644", or in GNU tars a binary
 * number, most significant byte first, after a byte of 128. Returns false if it is none. */
static bool field_number(const uint8_t *block, struct span field, int64_t *number)
{
    const uint8_t *at = block + field.at, *end = at + field.size;
    *number = 0;
    if (*at == 0x80) {
        /* The loop ends early before a number above BYTES_MAX could overflow. */
        while (++at<end && * number<BYTES_MAX>> 8)
            *number = *number << 8 | *at;
        return at == end;
    }
    while (at < end && *at == ' ')
        at++;
    /* Each octal digit has three bits. */
    for (; at < end && *at >= '0' && *at <= '7'; at++)
        *number = *number << 3 | (*at - '0');
    return at == end || *at == ' ' || !*at;
}

/* --- extended headers --------------------------------------------------------------------------------------------- */

/* Sets the error for a tar that ends in the middle. name: the member or part that is incomplete. */
static int tar_cut(const struct bl_tar_reader *r, const char *name, struct bl_error *e)
{
    return bl_error_set(e, BL_EDATA, "cut short at byte %" PRId64 ", in %.200s", r->bytes, name);
}

/* Sets the name of the next member, which an extended header has. It ends at its first zero byte. */
static int tar_set_name(struct bl_tar_reader *r, const char *name, size_t size, struct bl_error *e)
{
    bl_buffer_clear(&r->name);
    bl_buffer_append(&r->name, name, strnlen(name, size));
    r->named = true;
    return bl_buffer_check(&r->name, e);
}

/* Returns whether the record of a pax header begins with the key, such as "path=", and has a value. */
static bool record_has_key(const char *record, size_t size, const char *key)
{
    return size > strlen(key) && memcmp(record, key, strlen(key)) == 0;
}

/* Parses the records of a pax header. Each is "LENGTH KEY=VALUE" and a newline, where LENGTH counts all bytes of the
 * record, with its own digits and the newline. Source: POSIX.1, pax, "pax Extended Header". */
static int tar_take_records(struct bl_tar_reader *r, const char *text, size_t size, struct bl_error *e)
{
    for (size_t at = 0; at < size && text[at];) {
        size_t digits = strspn(text + at, "0123456789");
        /* The whole record must lie in the header, and its own length must fit. */
        int64_t length;
        if (!bl_text_to_int(text + at, digits, (int64_t)digits + 2, (int64_t)(size - at), &length) ||
            text[at + digits] != ' ' || text[at + (size_t)length - 1] != '\n')
            return bl_error_set(e, BL_EDATA, "damaged at byte %" PRId64 ": no valid pax header", r->at);
        const char *record = text + at + digits + 1;
        size_t bytes = (size_t)length - digits - 2;
        at += (size_t)length;
        if (record_has_key(record, bytes, "path=") || record_has_key(record, bytes, "GNU.sparse.name=")) {
            const char *value = (const char *)memchr(record, '=', bytes) + 1;
            BL_TRY(tar_set_name(r, value, bytes - (size_t)(value - record), e));
            continue;
        }
        /* Any other key of GNU.sparse means that the content has holes. */
        r->sparse |= record_has_key(record, bytes, "GNU.sparse.");
        if (record_has_key(record, bytes, "size=") && !bl_text_to_int(record + 5, bytes - 5, 0, BYTES_MAX, &r->size))
            return bl_error_set(e, BL_EDATA, "damaged at byte %" PRId64 ": a size that is no number", r->at);
    }
    return BL_OK;
}

/* Takes the content of a header that describes the next member: a pax header, or a long name of GNU tar (type L). */
static int tar_take_description(struct bl_tar_reader *r, char type, int64_t bytes, struct bl_error *e)
{
    const int64_t begin = r->at + BL_TAR_BLOCK;
    if (bytes > RECORDS_MAX)
        return bl_error_set(e, BL_EDATA, "damaged at byte %" PRId64 ": a header of %" PRId64 " bytes", begin, bytes);
    if (bytes > r->bytes - begin)
        return tar_cut(r, "a header", e);
    /* A zero byte at the end makes the text a string. */
    char *text = malloc((size_t)bytes + 1);
    if (!text)
        return bl_error_memory(e);
    text[bytes] = '\0';
    int code = bl_input_file_get(r->file, text, (size_t)bytes, begin, r->path, e);
    if (!code)
        code = type == 'L' ? tar_set_name(r, text, (size_t)bytes, e) : tar_take_records(r, text, (size_t)bytes, e);
    free(text);
    return code;
}

/* --- members ------------------------------------------------------------------------------------------------------ */

/* Returns why a member of this type and name cannot be an input, or NULL. Paths with ".." are refused even though
 * nothing is unpacked, as ids are paths in exports. */
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
    if (r->sparse)
        return "a sparse file";
    if (name[0] == '/')
        return "an absolute path";
    for (const char *at = name; at; at = strchr(at, '/')) {
        at += *at == '/';
        if (strncmp(at, "..", 2) == 0 && (at[2] == '/' || !at[2]))
            return "a path that leads out of its folder";
    }
    return *name ? NULL : "a member without a name";
}

/* Makes the member from its header at r->at, and moves r->at behind its content. *is_folder: the member is a folder
 * and is skipped. */
static int tar_take_member(struct bl_tar_reader *r, const uint8_t *block, int64_t bytes, struct bl_tar_member *member,
                           bool *is_folder, struct bl_error *e)
{
    char type = (char)block[FIELD_TYPE];
    if (!r->named) { /* by an extended header */
        const char *text = (const char *)block;
        bl_buffer_clear(&r->name);
        /* A path of up to 256 bytes is split at a slash into prefix and name (POSIX.1, ustar). */
        if (memcmp(block + field_magic.at, "ustar", field_magic.size) == 0 && block[field_prefix.at]) {
            bl_buffer_append(&r->name, text + field_prefix.at, strnlen(text + field_prefix.at, field_prefix.size));
            bl_buffer_byte(&r->name, '/');
        }
        bl_buffer_append(&r->name, text + field_name.at, strnlen(text + field_name.at, field_name.size));
        BL_TRY(bl_buffer_check(&r->name, e));
    }
    const char *name = r->name.data ? r->name.data : "";
    /* Many tars have "./" before each name, and ids should not. */
    while (strncmp(name, "./", 2) == 0)
        name += 2 + strspn(name + 2, "/");
    size_t size = strlen(name);
    bytes = r->size >= 0 ? r->size : bytes;
    *is_folder = type == '5' || type == 'D' || (type == '\0' && size && name[size - 1] == '/');
    *member = (struct bl_tar_member){
        .name = name, .begin = r->at + BL_TAR_BLOCK, .bytes = bytes, .unusable = member_why_unusable(r, type, name)};
    if (type >= '1' && type <= '6')
        bytes = 0; /* links, devices and folders have no content; the size may be that of a link's target */
    if (bytes > r->bytes - member->begin)
        return tar_cut(r, name, e);
    r->at = member->begin + block_round_up(bytes);
    /* An extended header describes one member only. */
    r->named = r->sparse = false;
    r->size = -1;
    return BL_OK;
}

/* Sets the error for a block that is no header. In the first block, the message names the format if it is another
 * archive. */
static int tar_refuse_block(const struct bl_tar_reader *r, const uint8_t *block, size_t size, struct bl_error *e)
{
    const char *archive = r->at ? NULL : bl_archive_detect(block, size);
    if (archive)
        return bl_error_set(e, BL_EDATA, "no tar, but %s", archive);
    return r->at ? bl_error_set(e, BL_EDATA, "damaged: no header at byte %" PRId64, r->at)
                 : bl_error_set(e, BL_EDATA, "no tar archive");
}

/* Sets the error for a tar with less than a block left and no end. */
static int tar_refuse_end(const struct bl_tar_reader *r, struct bl_error *e)
{
    uint8_t head[BL_TAR_BLOCK];
    if (!r->bytes)
        return bl_error_set(e, BL_EDATA, "empty file");
    if (r->at)
        return bl_error_set(e, BL_EDATA, "cut short at byte %" PRId64 ": it has no end", r->bytes);
    BL_TRY(bl_input_file_get(r->file, head, (size_t)r->bytes, 0, r->path, e));
    return tar_refuse_block(r, head, (size_t)r->bytes, e);
}

/* Checks the bytes after the end of the tar, which is its first block of zeros. Another archive behind it, joined by
 * cat, is an error: its members would be lost silently. */
static int tar_check_end(struct bl_tar_reader *r, struct bl_error *e)
{
    const int64_t end = r->at;
    const uint8_t *block;
    for (; r->at + BL_TAR_BLOCK <= r->bytes && r->at - end < PADDING_MAX; r->at += BL_TAR_BLOCK) {
        BL_TRY(tar_read_block(r, r->at, &block, e));
        if (!block_is_zero(block))
            return bl_error_set(e, BL_EDATA,
                                "its end is at byte %" PRId64 ", but more follows at byte %" PRId64
                                ", which is not read (were archives joined?)",
                                end, r->at);
    }
    return BL_OK;
}

/* Returns whether the sum of the bytes equals the checksum of the header, whose own bytes count as blanks. Some old
 * writers summed bytes above 127 as negative numbers. */
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

/* Finds the next member that is no folder. *found: false at the end. BL_EDATA: the tar is damaged or cut short;
 * members before the damage are good. */
int bl_tar_reader_next(struct bl_tar_reader *r, struct bl_tar_member *member, bool *found, struct bl_error *e)
{
    bool is_folder = true;
    int code = BL_OK;
    r->size = -1;
    *found = false;
    while (!code && is_folder) {
        const uint8_t *block;
        int64_t bytes;
        /* A tar without an end was cut short. */
        if (r->bytes - r->at < BL_TAR_BLOCK)
            return tar_refuse_end(r, e);
        BL_TRY(tar_read_block(r, r->at, &block, e));
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

/* --- members of tars ---------------------------------------------------------------------------------------------- */

#define EXTENSIONS_MAX 4096 /* samples have a few; keys with dots make one each */

/* Appends a text with its zero byte to the texts of the members. *at: its first byte. */
static int members_add_text(struct bl_tar_members *m, const char *text, size_t *at, struct bl_error *e)
{
    *at = m->text.size;
    bl_buffer_append(&m->text, text, strlen(text) + 1);
    return bl_buffer_check(&m->text, e);
}

/* Adds `members` to the count of an extension, and sets *number to the number of the extension. BL_EUSAGE: there are
 * too many. */
static int members_add_extension(struct bl_tar_members *m, const char *text, int64_t members, const char *shown,
                                 uint32_t *number, struct bl_error *e)
{
    const uint64_t hash = XXH3_64bits(text, strlen(text));
    size_t there;
    for (struct bl_hash_probe probe = bl_hash_begin(&m->by_text, hash); bl_hash_next(&m->by_text, &probe, &there);) {
        if (strcmp(bl_tar_members_extension(m, there), text) == 0) {
            m->extension[there].members += members;
            *number = (uint32_t)there;
            return BL_OK;
        }
    }
    if (m->extensions == EXTENSIONS_MAX)
        return bl_error_set(
            e, BL_EUSAGE,
            "%s: more than %d endings of names, such as \"%s\": the key of a sample ends at the first dot, "
            "so that keys must not have dots",
            shown, EXTENSIONS_MAX, text);
    BL_TRY(BL_ARRAY_RESERVE(m->extension, m->extension_capacity, m->extensions + 1, e));
    BL_TRY(bl_hash_add(&m->by_text, hash, m->extensions, e));
    *number = (uint32_t)m->extensions;
    struct bl_extension *extension = &m->extension[m->extensions++];
    extension->members = members;
    return members_add_text(m, text, &extension->text, e);
}

/* Adds a member with its texts. BL_EUSAGE: the members have too many extensions. */
static int tar_members_add(struct bl_tar_members *m, const struct bl_tar_member *member, const char *shown,
                           struct bl_error *e)
{
    BL_TRY(BL_ARRAY_RESERVE(m->entry, m->entry_capacity, m->entries + 1, e));
    struct bl_tar_entry *entry = &m->entry[m->entries++];
    *entry = (struct bl_tar_entry){
        .begin = member->begin, .bytes = member->bytes, .key = (uint32_t)bl_member_key(member->name)};
    BL_TRY(members_add_text(m, member->name, &entry->name, e));
    if (member->unusable)
        return members_add_text(m, member->unusable, &entry->unusable, e);
    if (!entry->key)
        return BL_OK;
    return members_add_extension(m, member->name + entry->key + 1, 1, shown, &entry->extension, e);
}

/* Reads the members of a tar, from its listing if another task has written one. fault: why not all of the tar can be
 * used. An error is a failure of the system. */
int bl_tar_members_read(struct bl_tar_members *m, const struct bl_tar_source *source, const struct bl_cancel *cancel,
                        struct bl_error *fault, struct bl_error *e)
{
    struct bl_input_file file;
    int code = BL_OK;
    if (bl_input_file_open(&file, source->path) != 0) {
        if (bl_errno_is_system(errno))
            return bl_opener_fail("cannot open", source->path, BL_EFAIL, e);
        bl_error_errno(fault, BL_EDATA, "cannot be opened");
        return BL_OK;
    }
    if (!S_ISREG(file.status.st_mode)) {
        bl_error_set(fault, BL_EDATA, "not a regular file");
        goto out;
    }
    if (source->listings && bl_tar_listing_find(m, source, &file.status, fault))
        goto out;
    struct bl_tar_reader reader = {.file = &file, .bytes = file.status.st_size, .path = source->path};
    for (bool found = true; !code && found;) {
        struct bl_tar_member member;
        code = bl_cancelled(cancel) ? BL_ECANCEL : bl_tar_reader_next(&reader, &member, &found, fault);
        if (!code && found)
            code = tar_members_add(m, &member, source->shown, fault);
    }
    bl_tar_reader_free(&reader);
    /* A fault of the tar is no error of the run; it becomes a part of the listing. */
    if (code && code != BL_EDATA)
        code = bl_error_set(e, code, "%s", fault->text);
    else
        code = source->listings ? bl_tar_listing_write(m, source, &file.status, fault, e) : BL_OK;
out:
    bl_input_file_close(&file);
    return code;
}

const char *bl_tar_members_extension(const struct bl_tar_members *m, size_t number)
{
    return m->text.data + m->extension[number].text;
}

/* Appends the members of another tar. The numbers of extensions and the places of texts change. */
int bl_tar_members_append(struct bl_tar_members *m, const struct bl_tar_members *other, const char *shown,
                          struct bl_error *e)
{
    uint32_t *number = calloc(other->extensions + 1, sizeof *number);
    int code =
        number ? BL_ARRAY_RESERVE(m->entry, m->entry_capacity, m->entries + other->entries + 1, e) : bl_error_memory(e);
    for (size_t x = 0; x < other->extensions && !code; x++)
        code = members_add_extension(m, bl_tar_members_extension(other, x), other->extension[x].members, shown,
                                     &number[x], e);
    if (code)
        goto out;
    /* The offsets of the other texts move by the size of this buffer. */
    const size_t base = m->text.size;
    if (other->text.size)
        bl_buffer_append(&m->text, other->text.data, other->text.size);
    code = bl_buffer_check(&m->text, e);
    for (size_t i = 0; i < other->entries && !code; i++) {
        struct bl_tar_entry *entry = &m->entry[m->entries++];
        *entry = other->entry[i];
        entry->name += base;
        entry->unusable += entry->unusable ? base : 0;
        entry->extension = number[entry->extension];
    }
out:
    free(number);
    return code;
}

void bl_tar_members_free(struct bl_tar_members *m)
{
    bl_buffer_free(&m->text);
    free(m->entry);
    free(m->extension);
    bl_hash_free(&m->by_text);
    *m = (struct bl_tar_members){0};
}

/* --- listings of tars --------------------------------------------------------------------------------------------- */

/* A text of 2 GiB has some 40 million members. */
#define LISTING_MAX ((size_t)1 << 31) /* bytes */

/* Appends the path of the tar's listing, which has a digest of the tar's name among the inputs. */
static int listing_path(const struct bl_tar_source *source, struct bl_buffer *path, struct bl_error *e)
{
    char digest[BL_DIGEST_SIZE];
    bl_checksum_format(bl_checksum(source->shown, strlen(source->shown)), digest);
    bl_buffer_printf(path, "%s/tar-%s", source->listings, digest);
    return bl_buffer_check(path, e);
}

/* Appends the beginning of a listing: size, time and name of the tar, which must be equal for the listing to count,
 * and the word of the second line. */
static void listing_format_head(const struct bl_tar_source *source, const struct stat *status, struct bl_buffer *out)
{
    bl_buffer_printf(out, "bload tar 1: %" PRId64 " %" PRId64 ".%09ld ", (int64_t)status->st_size,
                     (int64_t)status->st_mtim.tv_sec, status->st_mtim.tv_nsec);
    bl_text_escape(out, source->shown, strlen(source->shown));
    bl_buffer_text(out, "\nfault ");
}

/* Unescapes a text in place. Returns false if it is invalid or has a zero byte. */
static bool listing_decode_text(char *text)
{
    int64_t size = bl_text_unescape(text, strlen(text));
    if (size < 0 || memchr(text, '\0', (size_t)size))
        return false;
    text[size] = '\0';
    return true;
}

/* Ends the text at the first such byte, and returns the text after it, or NULL if there is no such byte. */
static char *text_split(char *text, char byte)
{
    char *end = strchr(text, byte);
    if (!end)
        return NULL;
    *end = '\0';
    return end + 1;
}

/* Parses a listing. at: the text behind the head. bytes: the size of the tar, which no member may exceed. Returns
 * false if the listing is invalid: the tar is then read itself. */
static bool listing_parse(struct bl_tar_members *m, char *at, const char *shown, int64_t bytes, struct bl_error *fault)
{
    struct bl_error ignored = {0};
    char *text = at;
    at = text_split(text, '\n');
    if (!at || !listing_decode_text(text))
        return false;
    for (char *line = at; *line; line = at) {
        at = text_split(line, '\n');
        char *size = text_split(line, ' '), *name = size ? text_split(size, ' ') : NULL;
        char *why = name ? text_split(name, '\t') : NULL;
        struct bl_tar_member member = {.name = name, .unusable = why};
        /* Numbers are checked against the size of the tar before anything is read there. */
        if (!at || !name || !listing_decode_text(name) || (why && !listing_decode_text(why)) ||
            !bl_text_to_int(line, strlen(line), 0, bytes, &member.begin) ||
            !bl_text_to_int(size, strlen(size), 0, why ? INT64_MAX - bytes : bytes - member.begin, &member.bytes) ||
            tar_members_add(m, &member, shown, &ignored))
            return false;
    }
    if (*text)
        bl_error_set(fault, BL_EDATA, "%s", text);
    return true;
}

/* Returns whether a valid listing of this tar exists. Errors only mean that there is none. */
bool bl_tar_listing_find(struct bl_tar_members *m, const struct bl_tar_source *source, const struct stat *status,
                         struct bl_error *fault)
{
    struct bl_buffer path = {0}, head = {0}, text = {0};
    struct bl_error ignored = {0};
    bool found = false;
    if (listing_path(source, &path, &ignored) || bl_sealed_read(path.data, LISTING_MAX, &text, &ignored))
        goto out;
    listing_format_head(source, status, &head);
    found = !head.failed && text.size > head.size && memcmp(text.data, head.data, head.size) == 0 &&
            strlen(text.data) == text.size &&
            listing_parse(m, text.data + head.size, source->shown, status->st_size, fault);
    /* A partly parsed listing must leave nothing behind. */
    if (!found)
        bl_tar_members_free(m);
out:
    bl_buffer_free(&path);
    bl_buffer_free(&head);
    bl_buffer_free(&text);
    return found;
}

/* Writes the listing for other tasks. A listing that is too long is not written, and each task reads the tar. */
int bl_tar_listing_write(const struct bl_tar_members *m, const struct bl_tar_source *source, const struct stat *status,
                         const struct bl_error *fault, struct bl_error *e)
{
    struct bl_buffer path = {0}, text = {0};
    int code = listing_path(source, &path, e);
    if (code)
        goto out;
    listing_format_head(source, status, &text);
    bl_text_escape(&text, fault->text, strlen(fault->text));
    for (size_t i = 0; i < m->entries; i++) {
        const struct bl_tar_entry *entry = &m->entry[i];
        const char *name = m->text.data + entry->name, *why = m->text.data + entry->unusable;
        bl_buffer_printf(&text, "\n%" PRId64 " %" PRId64 " ", entry->begin, entry->bytes);
        bl_text_escape(&text, name, strlen(name));
        bl_buffer_text(&text, entry->unusable ? "\t" : "");
        bl_text_escape(&text, why, entry->unusable ? strlen(why) : 0);
    }
    code = bl_sealed_close(&text, e);
    if (!code && text.size <= LISTING_MAX)
        code = bl_output_replace(path.data, text.data, text.size, e);
out:
    bl_buffer_free(&path);
    bl_buffer_free(&text);
    return code;
}
