/* What a worker and its decoder process say to each other, and how the structs that a kind is given and reports travel.
 *
 * The worker asks; the process answers with DONE, and before that, as often as it needs, with rows (COUNT), files that
 * it wants to be opened, and memory that it wants to be reserved. */
#ifndef BL_ISOLATED_MESSAGES_H
#define BL_ISOLATED_MESSAGES_H

#include "base/message.h"
#include "kind/kind.h"

enum bl_isolated_type {
    /* of the worker: */
    BL_ISOLATED_COUNT,
    BL_ISOLATED_FIELDS,
    BL_ISOLATED_VERSIONS,
    BL_ISOLATED_PIECE,
    BL_ISOLATED_OPENED, /* errno or 0, with the descriptor */
    BL_ISOLATED_RESERVED,
    /* of the process: */
    BL_ISOLATED_WANT, /* the number of a file or folder of the request, a name in it or "", whether a folder is wanted
                       */
    BL_ISOLATED_RESERVE, /* bytes; whether they are needed already: bl_reservation_grow */
    BL_ISOLATED_ROW,
    BL_ISOLATED_DONE, /* code, text, whether memory ran out; then what the work results in */
};

/* Descriptors of a message: memory, and the files of its inputs in their order. */
enum bl_isolated_fd { BL_ISOLATED_MEMORY, BL_ISOLATED_FILE };
#define BL_ISOLATED_FILES (BL_MESSAGE_FDS - BL_ISOLATED_FILE)

/* Each get fills its struct with what put was given; texts and arrays live as long as the message. */
void bl_isolated_put_row(struct bl_buffer *out, const struct bl_row *row);
void bl_isolated_get_row(struct bl_message *m, struct bl_row *row);

/* The chunk's items are its inputs, or the lines of a list: those from `first` on, so many; of a list with none, the
 * fault after them. */
void bl_isolated_put_chunk(struct bl_buffer *out, const struct bl_chunk *chunk, int first, int count);

/* A chunk that was received. Initialize with {0}; reusable. */
struct bl_isolated_chunk {
    struct bl_chunk chunk;
    struct bl_input input[BL_ISOLATED_FILES];
    struct bl_row followed;
    struct bl_line *line;
    size_t capacity;
};

int bl_isolated_get_chunk(struct bl_message *m, struct bl_isolated_chunk *out, struct bl_error *e);

void bl_isolated_put_fields(struct bl_buffer *out, const struct bl_fields *fields);
void bl_isolated_get_fields(struct bl_message *m, struct bl_fields *fields);

#endif
