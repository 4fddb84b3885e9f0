#include "scan/tar_members.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/buffer.h"
#include "base/input_file.h"
#include "base/member.h"
#include "scan/tar_listing.h"

#define EXTENSIONS_MAX 4096 /* samples have a few; keys with dots make one each */

static int members_add_text(struct bl_tar_members *m, const char *text, size_t *at, struct bl_error *e)
{
    *at = m->text.size;
    bl_buffer_append(&m->text, text, strlen(text) + 1);
    return bl_buffer_check(&m->text, e);
}

/* Counts so many members of the extension, and sets its number. */
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
    int code = BL_ARRAY_RESERVE(m->extension, m->extension_capacity, m->extensions + 1, e);
    if (!code)
        code = bl_hash_add(&m->by_text, hash, m->extensions, e);
    if (code)
        return code;
    *number = (uint32_t)m->extensions;
    struct bl_extension *extension = &m->extension[m->extensions++];
    extension->members = members;
    return members_add_text(m, text, &extension->text, e);
}

int bl_tar_members_add(struct bl_tar_members *m, const struct bl_tar_member *member, const char *shown,
                       struct bl_error *e)
{
    int code = BL_ARRAY_RESERVE(m->entry, m->entry_capacity, m->entries + 1, e);
    if (code)
        return code;
    struct bl_tar_entry *entry = &m->entry[m->entries++];
    *entry = (struct bl_tar_entry){
        .begin = member->begin, .bytes = member->bytes, .key = (uint32_t)bl_member_key(member->name)};
    code = members_add_text(m, member->name, &entry->name, e);
    if (!code && member->unusable)
        code = members_add_text(m, member->unusable, &entry->unusable, e);
    else if (!code && entry->key)
        code = members_add_extension(m, member->name + entry->key + 1, 1, shown, &entry->extension, e);
    return code;
}

static int members_read_headers(struct bl_tar_members *m, const struct bl_input_file *file,
                                const struct bl_tar_source *source, const struct bl_cancel *cancel,
                                struct bl_error *fault)
{
    struct bl_tar_reader reader = {.fd = file->fd, .bytes = file->status.st_size, .path = source->path};
    bool found = true;
    int code = BL_OK;
    while (!code && found) {
        struct bl_tar_member member;
        code = bl_cancelled(cancel) ? BL_ECANCEL : bl_tar_reader_next(&reader, &member, &found, fault);
        if (!code && found)
            code = bl_tar_members_add(m, &member, source->shown, fault);
    }
    bl_tar_reader_free(&reader);
    return code;
}

int bl_tar_members_read(struct bl_tar_members *m, const struct bl_tar_source *source, const struct bl_cancel *cancel,
                        struct bl_error *fault, struct bl_error *e)
{
    struct bl_input_file file;
    int code = BL_OK;
    if (bl_input_file_open(&file, source->path) != 0) {
        if (bl_errno_is_system(errno))
            return bl_error_errno(e, BL_EFAIL, "cannot open %s", source->path);
        bl_error_errno(fault, BL_EDATA, "cannot be opened");
        return BL_OK;
    }
    if (!S_ISREG(file.status.st_mode)) {
        bl_error_set(fault, BL_EDATA, "not a regular file");
        goto out;
    }
    if (source->listings && bl_tar_listing_find(m, source, &file.status, fault))
        goto out;
    code = members_read_headers(m, &file, source, cancel, fault);
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
