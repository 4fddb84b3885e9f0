/* The folders of images that a worker used last. Lists have many clips of one folder, in any order: each folder is
 * listed and read for its digest once, or is listed once more where the cache had no room for its images. */
#ifndef BL_FOLDER_CACHE_H
#define BL_FOLDER_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "kind/frames/image_folder.h"

struct bl_cached_folder {
    char *path; /* NULL: the entry is free */
    uint64_t path_hash;
    struct bl_image_folder folder; /* without images: it has to be listed again */
    uint64_t listing;              /* digest of the names, sizes and times of the images */
    uint64_t content;              /* of the folder when it had this listing; see bl_image_folder_stat */
    bool has_content;
    size_t memory; /* bytes of the images */
    uint64_t used; /* the cache's clock at the last access */
};

/* Start from {0}. */
struct bl_folder_cache {
    struct bl_cached_folder *entry;
    size_t count, capacity;
    size_t memory; /* of all entries */
    uint64_t clock;
};

/* Finds the folder, and lists it unless its images are there. *folder is valid until the next call. Codes and pattern
 * as of bl_image_folder_list; the pattern is the same in all calls. */
int bl_folder_cache_find(struct bl_folder_cache *cache, const char *path, const char *pattern,
                         struct bl_cached_folder **folder, struct bl_error *e);

/* Sets folder->content, which is computed once for a listing. Codes as of bl_image_folder_stat. */
int bl_cached_folder_digest(struct bl_cached_folder *folder, struct bl_error *e);

/* Forgets what is known of a folder, which may have changed. */
void bl_folder_cache_forget(struct bl_folder_cache *cache, const char *path);

void bl_folder_cache_free(struct bl_folder_cache *cache);

#endif
