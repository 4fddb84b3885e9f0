#include "scan/tar_listing.h"

#include <inttypes.h>
#include <string.h>

#include "base/checksum.h"
#include "base/fs.h"
#include "base/output.h"
#include "base/text.h"

#define LISTING_MAX ((size_t)1 << 31) /* bytes */

static int listing_path(const struct bl_tar_source *source, struct bl_buffer *path, struct bl_error *e)
{
    char digest[BL_DIGEST_SIZE];
    bl_checksum_format(bl_checksum(source->shown, strlen(source->shown)), digest);
    bl_buffer_printf(path, "%s/tar-%s", source->listings, digest);
    return bl_buffer_check(path, e);
}

/* The first line, and the word that begins the second one. */
static void listing_format_head(const struct bl_tar_source *source, const struct stat *status, struct bl_buffer *out)
{
    bl_buffer_printf(out, "bload tar 1: %" PRId64 " %" PRId64 ".%09ld ", (int64_t)status->st_size,
                     (int64_t)status->st_mtim.tv_sec, status->st_mtim.tv_nsec);
    bl_text_escape(out, source->shown, strlen(source->shown));
    bl_buffer_text(out, "\nfault ");
}

/* --- reading ----------------------------------------------------------------------------------------------------- */

/* Decodes a text in place. */
static bool text_decode(char *text)
{
    int64_t size = bl_text_unescape(text, strlen(text));
    if (size < 0 || memchr(text, '\0', (size_t)size))
        return false;
    text[size] = '\0';
    return true;
}

/* Ends the text at the first such byte, and returns what follows it; NULL: there is none. */
static char *text_split(char *text, char byte)
{
    char *end = strchr(text, byte);
    if (!end)
        return NULL;
    *end = '\0';
    return end + 1;
}

/* bytes: of the tar. */
static bool line_parse(char *line, int64_t bytes, struct bl_tar_member *member)
{
    char *size = text_split(line, ' '), *name = size ? text_split(size, ' ') : NULL;
    char *why = name ? text_split(name, '\t') : NULL;
    *member = (struct bl_tar_member){.name = name, .unusable = why};
    return name && text_decode(name) && (!why || text_decode(why)) &&
           bl_text_to_int(line, strlen(line), 0, bytes, &member->begin) &&
           bl_text_to_int(size, strlen(size), 0, why ? INT64_MAX - bytes : bytes - member->begin, &member->bytes);
}

/* at: what follows the head. */
static bool listing_parse(struct bl_tar_members *m, char *at, const char *shown, int64_t bytes, struct bl_error *fault)
{
    struct bl_error ignored = {0};
    char *text = at;
    at = text_split(text, '\n');
    if (!at || !text_decode(text))
        return false;
    for (char *line = at; *line; line = at) {
        struct bl_tar_member member;
        at = text_split(line, '\n');
        if (!at || !line_parse(line, bytes, &member) || bl_tar_members_add(m, &member, shown, &ignored))
            return false;
    }
    if (*text)
        bl_error_set(fault, BL_EDATA, "%s", text);
    return true;
}

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
    if (!found)
        bl_tar_members_free(m);
out:
    bl_buffer_free(&path);
    bl_buffer_free(&head);
    bl_buffer_free(&text);
    return found;
}

/* --- writing ----------------------------------------------------------------------------------------------------- */

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
