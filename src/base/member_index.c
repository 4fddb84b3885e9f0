#include "base/member_index.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/array.h"
#include "base/member.h"

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
