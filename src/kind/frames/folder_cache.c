/* The cache of folders of images.
 *
 * The images of the folders that were used last stay in memory, up to a limit. An entry without images still has the
 * digest of the content: if the folder has the same names, sizes and times when it is listed again, it is valid. */
#include "kind/frames/folder_cache.h"

#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "kind/input_stat.h"

#define FOLDERS_MAX 1024              /* entries, which are searched one by one */
#define MEMORY_MAX ((size_t)32 << 20) /* bytes of images; the folder in use may exceed it alone */

/* Frees the images of an entry. */
static void cached_folder_drop_images(struct bl_folder_cache *cache, struct bl_cached_folder *f)
{
    cache->memory -= f->memory;
    f->memory = 0;
    bl_image_folder_free(&f->folder);
}

/* Empties an entry. */
static void cached_folder_clear(struct bl_folder_cache *cache, struct bl_cached_folder *f)
{
    cached_folder_drop_images(cache, f);
    free(f->path);
    *f = (struct bl_cached_folder){0};
}

/* Sets the digest of the listing, and the memory that the images take. */
static int cached_folder_measure(struct bl_cached_folder *f, uint64_t *listing, struct bl_error *e)
{
    struct bl_buffer all = {0};
    f->memory = f->folder.capacity * sizeof *f->folder.image;
    for (size_t i = 0; i < f->folder.count; i++) {
        const struct bl_image *image = &f->folder.image[i];
        size_t name = strlen(image->name) + 1;
        f->memory += name + 2 * sizeof(size_t); /* that an allocation takes beside its bytes */
        bl_buffer_append(&all, image->name, name);
        bl_buffer_append(&all, (const char *)&image->bytes, sizeof image->bytes);
        bl_buffer_append(&all, (const char *)&image->modified, sizeof image->modified);
    }
    bl_buffer_append(&all, (const char *)&f->folder.bytes, sizeof f->folder.bytes);
    int code = bl_buffer_check(&all, e);
    if (!code)
        *listing = bl_content_hash(all.data, all.size);
    bl_buffer_free(&all);
    return code;
}

/* Lists the images of an entry that has none, and frees those of others until all fit into the memory. */
static int cached_folder_list(struct bl_folder_cache *cache, struct bl_cached_folder *f, const char *pattern,
                              struct bl_error *e)
{
    uint64_t listing = 0;
    int code = bl_image_folder_list(&f->folder, f->path, pattern, e);
    if (!code)
        code = cached_folder_measure(f, &listing, e);
    if (code) {
        f->memory = 0; /* the cache's sum does not have it yet */
        cached_folder_clear(cache, f);
        return code;
    }
    f->has_content = f->has_content && listing == f->listing;
    f->listing = listing;
    cache->memory += f->memory;
    while (cache->memory > MEMORY_MAX) {
        struct bl_cached_folder *oldest = NULL;
        for (size_t i = 0; i < cache->count; i++) {
            struct bl_cached_folder *other = &cache->entry[i];
            if (other != f && other->memory && (!oldest || other->used < oldest->used))
                oldest = other;
        }
        if (!oldest)
            break;
        cached_folder_drop_images(cache, oldest);
    }
    return BL_OK;
}

/* Returns the entry of this path, or NULL. */
static struct bl_cached_folder *folder_cache_search(struct bl_folder_cache *cache, const char *path, uint64_t hash)
{
    for (size_t i = 0; i < cache->count; i++) {
        struct bl_cached_folder *f = &cache->entry[i];
        if (f->path && f->path_hash == hash && strcmp(f->path, path) == 0)
            return f;
    }
    return NULL;
}

/* Makes an entry for the path: a new one, or in place of the one that was not used for the longest time. */
static int folder_cache_add(struct bl_folder_cache *cache, const char *path, uint64_t hash,
                            struct bl_cached_folder **folder, struct bl_error *e)
{
    struct bl_cached_folder *f = NULL;
    for (size_t i = 0; i < cache->count && (!f || f->path); i++) {
        if (!f || !cache->entry[i].path || cache->entry[i].used < f->used)
            f = &cache->entry[i];
    }
    if (cache->count < FOLDERS_MAX && (!f || f->path)) {
        BL_TRY(BL_ARRAY_RESERVE(cache->entry, cache->capacity, cache->count + 1, e));
        f = &cache->entry[cache->count++];
        *f = (struct bl_cached_folder){0};
    }
    cached_folder_clear(cache, f);
    f->path = strdup(path);
    f->path_hash = hash;
    *folder = f;
    return f->path ? BL_OK : bl_error_memory(e);
}

int bl_folder_cache_find(struct bl_folder_cache *cache, const char *path, const char *pattern,
                         struct bl_cached_folder **folder, struct bl_error *e)
{
    const uint64_t hash = bl_content_hash(path, strlen(path));
    struct bl_cached_folder *f = folder_cache_search(cache, path, hash);
    if (!f)
        BL_TRY(folder_cache_add(cache, path, hash, &f, e));
    f->used = ++cache->clock;
    *folder = f;
    return f->folder.count ? BL_OK : cached_folder_list(cache, f, pattern, e);
}

int bl_cached_folder_digest(struct bl_cached_folder *f, struct bl_error *e)
{
    int64_t bytes;
    if (f->has_content)
        return BL_OK;
    BL_TRY(bl_image_folder_stat(f->path, &bytes, &f->content, e));
    f->has_content = true;
    return BL_OK;
}

void bl_folder_cache_forget(struct bl_folder_cache *cache, const char *path)
{
    struct bl_cached_folder *f = folder_cache_search(cache, path, bl_content_hash(path, strlen(path)));
    if (f)
        cached_folder_clear(cache, f);
}

void bl_folder_cache_free(struct bl_folder_cache *cache)
{
    for (size_t i = 0; i < cache->count; i++)
        cached_folder_clear(cache, &cache->entry[i]);
    free(cache->entry);
    *cache = (struct bl_folder_cache){0};
}
