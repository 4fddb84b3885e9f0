#include "base/member.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/buffer.h"
#include "base/fs.h"
#include "base/text.h"

/* --- member ------------------------------------------------------------------------------------------------------- */

#define MARK ".tar@"

/* Reads a number up to the character that ends it, and goes past that. */
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
    if (!bl_member_parse(path, &member))
        return path;
    if (member.tar >= PATH_MAX) {
        errno = ENAMETOOLONG;
        return NULL;
    }
    memcpy(buffer, path, member.tar);
    buffer[member.tar] = '\0';
    return buffer;
}

void bl_member_append(struct bl_buffer *out, const char *tar, int64_t begin, int64_t bytes, const char *name)
{
    bl_buffer_printf(out, "%s@%" PRId64 "+%" PRId64 "/%s", tar, begin, bytes, name);
}

size_t bl_member_key(const char *name)
{
    const char *last = bl_path_name(name), *dot = strchr(last, '.');
    return dot && dot > last && dot[1] ? (size_t)(dot - name) : 0;
}

/* --- member index ------------------------------------------------------------------------------------------------- */

/* Members of tars by their names: for samples, where the members beside the sequence lie. */

/* Of the tar's path, as shards often have the same names, of the key, and of what follows it. */
static uint64_t member_hash(const char *tar, size_t tar_size, const char *key, size_t key_size, const char *extension)
{
    uint64_t hash = XXH3_64bits(tar, tar_size);
    hash = XXH3_64bits_withSeed(key, key_size, hash);
    return XXH3_64bits_withSeed(extension, strlen(extension), hash);
}

int bl_member_index_add_tar(struct bl_member_index *index, const char *path, struct bl_error *e)
{
    int code = BL_ARRAY_RESERVE(index->tar, index->tar_capacity, index->tars + 1, e);
    if (code)
        return code;
    index->tar[index->tars++] = index->text.size;
    bl_buffer_append(&index->text, path, strlen(path) + 1);
    return bl_buffer_check(&index->text, e);
}

int bl_member_index_add(struct bl_member_index *index, const char *name, int64_t begin, int64_t bytes,
                        struct bl_error *e)
{
    const char *tar = index->text.data + index->tar[index->tars - 1];
    const size_t key = bl_member_key(name);
    int code = BL_ARRAY_RESERVE(index->member, index->capacity, index->members + 1, e);
    if (code)
        return code;
    code = bl_hash_add(&index->by_name, member_hash(tar, strlen(tar), name, key, name + key + (key > 0)),
                       index->members, e);
    if (code)
        return code;
    index->member[index->members++] = (struct bl_member_entry){
        .tar = (uint32_t)index->tars - 1, .name = index->text.size, .begin = begin, .bytes = bytes};
    bl_buffer_append(&index->text, name, strlen(name) + 1);
    return bl_buffer_check(&index->text, e);
}

/* Whether the name is a key, a dot and an extension. */
static bool name_is(const char *name, const char *key, size_t size, const char *extension)
{
    return strncmp(name, key, size) == 0 && name[size] == '.' && strcmp(name + size + 1, extension) == 0;
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
    uint64_t hash = member_hash(path, m.tar, m.name, size, extension);
    for (struct bl_hash_probe probe = bl_hash_begin(&index->by_name, hash);
         bl_hash_next(&index->by_name, &probe, &number);) {
        const struct bl_member_entry *entry = &index->member[number];
        const char *tar = index->text.data + index->tar[entry->tar];
        if (name_is(index->text.data + entry->name, m.name, size, extension) && strncmp(tar, path, m.tar) == 0 &&
            !tar[m.tar])
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
