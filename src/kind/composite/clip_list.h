/* The clips of a companion: the lines of one list, found by the id of a sequence. They stay in memory. */
#ifndef BL_CLIP_LIST_H
#define BL_CLIP_LIST_H

#include "base/buffer.h"
#include "base/error.h"
#include "base/hash.h"
#include "kind/chunk.h"

/* Start from {0}. */
struct bl_clip_list {
    struct bl_buffer text; /* of each clip its id, with a zero byte, then its line in the form of kind/clip.h */
    struct bl_clip_place {
        size_t id, line, size; /* where they begin in the text, and bytes of the line */
        int64_t number;        /* of the line, from 1 */
    } * place;
    size_t count, capacity;
    struct bl_hash by_id;
};

/* Adds a line. BL_EDATA: it is no clip, or has the id of another one. */
int bl_clip_list_add(struct bl_clip_list *list, const struct bl_line *line, struct bl_error *e);

/* Sets the line with the id of a sequence or, where there is none, with that id without its extension. False: neither
 * is there. */
bool bl_clip_list_find(const struct bl_clip_list *list, const char *id, struct bl_line *line);

/* The digest of all lines. */
uint64_t bl_clip_list_digest(const struct bl_clip_list *list);
void bl_clip_list_free(struct bl_clip_list *list);

#endif
