/* The protocol between a worker and its decoder process: messages over a socket, the structs that messages carry, and a
 * page of shared memory that shows the progress of the process. */
#ifndef BL_MESSAGES_H
#define BL_MESSAGES_H

#include <stdatomic.h>

#include "base/buffer.h"
#include "kind/kind.h"

/* --- messages ----------------------------------------------------------------------------------------------------- */

/* A message has a type, items (numbers, texts and bytes), and descriptors. The receiver gets the items in the order in
 * which the sender has put them. Both ends run the same program, so items need no names or byte order.
 *
 * The receiver does not trust the sender: if an item is missing or malformed, the get functions return 0 or NULL and
 * mark the message as damaged, and nothing worse happens. */

#define BL_MESSAGE_FDS 17                /* descriptors of a message at most */
#define BL_MESSAGE_MAX ((size_t)1 << 31) /* bytes of a message, unless the receiver sets a lower limit */

/* Append an item to a message that is being made. A failed allocation sets out->failed. text may be NULL. The receiver
 * gets bytes at an address that is a multiple of 8. */
void bl_message_put_int(struct bl_buffer *out, int64_t value);
void bl_message_put_double(struct bl_buffer *out, double value);
void bl_message_put_text(struct bl_buffer *out, const char *text);
void bl_message_put_bytes(struct bl_buffer *out, const void *data, size_t size);

/* No descriptors. */
#define BL_MESSAGE_FDS_NONE                                                                                            \
    {                                                                                                                  \
        [0 ... BL_MESSAGE_FDS - 1] = -1                                                                                \
    }

/* A message that was received. Initialize with {.fd = BL_MESSAGE_FDS_NONE}; reusable. */
struct bl_message {
    int type;
    struct bl_buffer data;  /* the message, and bytes of later messages that arrived with it */
    size_t at, end;         /* offsets in data: of the next item, and of the end of the message */
    size_t most;            /* the largest size of a message in bytes; 0: BL_MESSAGE_MAX */
    bool damaged;           /* an item was missing or malformed */
    int fd[BL_MESSAGE_FDS]; /* owned by the message; -1: none. A caller that takes one sets it to -1 */
};

void bl_message_free(struct bl_message *message);

/* Empties the message, also of bytes of later messages, and closes its descriptors. For use after the sender has
 * ended. */
void bl_message_reset(struct bl_message *message);

/* Return the next item. Texts and bytes stay valid until the next message is received. If the item is missing or
 * malformed, they mark the message as damaged and return 0 or NULL. */
int64_t bl_message_get_int(struct bl_message *message);
double bl_message_get_double(struct bl_message *message);
const char *bl_message_get_text(struct bl_message *message);
const void *bl_message_get_bytes(struct bl_message *message, size_t *size);

/* Sends a message. fd is an array of BL_MESSAGE_FDS descriptors, -1 for none, or NULL; the caller keeps them. Returns
 * false, with errno, if the receiver is gone. */
bool bl_message_send(int socket, int type, const struct bl_buffer *data, const int *fd);

/* Appends a message to a queue instead of sending it, so that the receiver wakes up once for several messages. */
void bl_message_append(struct bl_buffer *queue, int type, const struct bl_buffer *data);

/* Sends the messages in the queue, and empties it. Returns false as bl_message_send, or if an append has failed. */
bool bl_message_flush(int socket, struct bl_buffer *queue);

enum bl_received {
    BL_RECEIVED,
    BL_RECEIVED_NOTHING, /* the socket's timeout or a signal came before the end of the message: call it again */
    BL_RECEIVED_END,     /* the sender is gone */
    BL_RECEIVED_DAMAGED, /* the bytes are no valid message */
    BL_RECEIVED_FAILED,  /* a system call failed, with errno */
};

/* Receives the next message in place of the previous one, whose remaining descriptors it closes. */
enum bl_received bl_message_receive(int socket, struct bl_message *message);

/* --- requests and answers ----------------------------------------------------------------------------------------- */

/* The types of messages, and the encoding of the structs that are passed to a kind and reported by it.
 *
 * The worker sends a request, and the process answers with DONE. Before DONE the process may send rows (for COUNT), and
 * requests of its own: to open a file (WANT, answered by OPENED), to read an object (READ, answered by BYTES), or to
 * reserve memory (RESERVE, answered by RESERVED).
 * A piece, for example, is PIECE, WANT, OPENED, RESERVE, RESERVED, DONE. */

enum bl_isolated_type {
    /* from the worker: */
    BL_ISOLATED_COUNT,
    BL_ISOLATED_FIELDS,
    BL_ISOLATED_VERSIONS,
    BL_ISOLATED_PIECE,
    BL_ISOLATED_OPENED, /* errno or 0, with the descriptor; EREMOTE: it is one of a store: the size and content of an
                           object, or the files of a folder (bl_far_files.list) */
    BL_ISOLATED_BYTES,  /* of an object */
    BL_ISOLATED_RESERVED,
    /* from the process: */
    BL_ISOLATED_WANT,    /* number of a path of the request; a name in that folder, or ""; whether to open a folder */
    BL_ISOLATED_READ,    /* number and name of an object, as for WANT; offset; bytes */
    BL_ISOLATED_RESERVE, /* bytes; whether to call bl_reservation_grow, not bl_reservation_need */
    BL_ISOLATED_ROW,
    BL_ISOLATED_DONE, /* code, text, whether memory ran out; then the result of the request */
};

/* Indices of a message's descriptors: the memory of a block, and from BL_ISOLATED_FILE on the files of the inputs. */
enum bl_isolated_fd { BL_ISOLATED_MEMORY, BL_ISOLATED_FILE };
#define BL_ISOLATED_FILES (BL_MESSAGE_FDS - BL_ISOLATED_FILE)

#define BL_ISOLATED_READ_MOST ((size_t)1 << 20) /* bytes of an object in one message */

/* Each get function fills its struct with the values that its put function has encoded. Texts and arrays stay valid
 * until the next message is received. */
void bl_isolated_put_row(struct bl_buffer *out, const struct bl_row *row);
void bl_isolated_get_row(struct bl_message *m, struct bl_row *row);

/* Encodes `count` items of the chunk from item `first` on. Items are inputs, or lines if the chunk is a list. With
 * count 0 it encodes the fault after the last line of a list. */
void bl_isolated_put_chunk(struct bl_buffer *out, const struct bl_chunk *chunk, int first, int count);

/* A decoded chunk, with the memory of its arrays. Initialize with {0}; reusable. */
struct bl_isolated_chunk {
    struct bl_chunk chunk;
    struct bl_input input[BL_ISOLATED_FILES];
    struct bl_row followed;
    struct bl_line *line;
    size_t capacity;
};

/* Decodes a chunk; check m->damaged after it. BL_EFAIL: out of memory. */
int bl_isolated_get_chunk(struct bl_message *m, struct bl_isolated_chunk *out, struct bl_error *e);

void bl_isolated_put_fields(struct bl_buffer *out, const struct bl_fields *fields);
void bl_isolated_get_fields(struct bl_message *m, struct bl_fields *fields);

/* --- progress page ------------------------------------------------------------------------------------------------ */

/* A page of memory that a decoder process shares with its worker. The process writes its progress, and the worker reads
 * it without a message. */

struct bl_progress_page {
    atomic_ullong beats; /* packets, frames and images read so far (base/cancel.h): progress for --stall */
    atomic_llong done;   /* progress of the current request, in the units of its meter */
    atomic_int items;    /* items of the current request (inputs or lines) whose rows are made */
    atomic_bool failed;  /* the process ended itself because memory ran out or a message was invalid */
};

#endif
