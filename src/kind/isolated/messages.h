/* What a worker and its decoder process exchange: messages over a socket, the requests and answers that messages carry,
 * and a page of shared memory that shows the progress of the process. */
#ifndef BL_MESSAGES_H
#define BL_MESSAGES_H

#include <stdatomic.h>

#include "base/buffer.h"
#include "kind/kind.h"

/* --- messages ----------------------------------------------------------------------------------------------------- */

/* Messages between processes of one program, over a stream socket: a type, numbers, texts and bytes, which the receiver
 * gets in the order in which they were put, and descriptors.
 *
 * The receiver need not trust the sender: a message with other contents than expected is damaged, no more. */

#define BL_MESSAGE_FDS 17
#define BL_MESSAGE_MAX ((size_t)1 << 31) /* bytes, unless the receiver expects fewer */

void bl_message_put_int(struct bl_buffer *out, int64_t value);
void bl_message_put_double(struct bl_buffer *out, double value);
/* text may be NULL. */
void bl_message_put_text(struct bl_buffer *out, const char *text);
/* The receiver finds them at a multiple of 8. */
void bl_message_put_bytes(struct bl_buffer *out, const void *data, size_t size);

/* No descriptors. */
#define BL_MESSAGE_FDS_NONE                                                                                            \
    {                                                                                                                  \
        [0 ... BL_MESSAGE_FDS - 1] = -1                                                                                \
    }

/* A message that was received. Initialize with {.fd = BL_MESSAGE_FDS_NONE}; reusable. */
struct bl_message {
    int type;
    struct bl_buffer data;  /* the message, and what came with it of those that follow */
    size_t at, end;         /* of its next item, and of its last, in data */
    size_t most;            /* bytes that a message may have; 0: BL_MESSAGE_MAX */
    bool damaged;           /* an item was not there */
    int fd[BL_MESSAGE_FDS]; /* -1: none. Who takes one sets it to -1 */
};

void bl_message_free(struct bl_message *message);

/* Forgets what came of the messages that follow: their sender is gone. */
void bl_message_reset(struct bl_message *message);

/* What comes next; texts and bytes live as long as the message. 0, NULL or no bytes if it is damaged. */
int64_t bl_message_get_int(struct bl_message *message);
double bl_message_get_double(struct bl_message *message);
const char *bl_message_get_text(struct bl_message *message);
const void *bl_message_get_bytes(struct bl_message *message, size_t *size);

/* Sends a message. fd: [BL_MESSAGE_FDS], -1 for none; NULL: none at all. False, with errno: the receiver is gone. */
bool bl_message_send(int socket, int type, const struct bl_buffer *data, const int *fd);

/* Appends a message to a queue, so that it travels with the next one: whoever waits for both wakes up once. */
void bl_message_append(struct bl_buffer *queue, int type, const struct bl_buffer *data);

/* Sends what is in the queue, and empties it. */
bool bl_message_flush(int socket, struct bl_buffer *queue);

enum bl_received {
    BL_RECEIVED,
    BL_RECEIVED_NOTHING, /* not all of it for as long as the socket waits, or until a signal came: call again */
    BL_RECEIVED_END,     /* the sender is gone */
    BL_RECEIVED_DAMAGED, /* no message at all */
    BL_RECEIVED_FAILED,  /* errno */
};

/* Receives the next message. */
enum bl_received bl_message_receive(int socket, struct bl_message *message);

/* --- requests and answers ----------------------------------------------------------------------------------------- */

/* The types of messages, and the form in which they carry the structs that a kind is given and reports.
 *
 * The worker sends a request, and the process answers with DONE. Before DONE the process may send, as often as it
 * needs, rows (COUNT) and requests of its own: that the worker opens a file, or reserves memory. */

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

/* --- progress page ------------------------------------------------------------------------------------------------ */

/* A page that a decoder process shares with its worker, which reads there how far the process is. */

struct bl_progress_page {
    atomic_ullong beats; /* packets, frames and images read (base/cancel.h) */
    atomic_llong done;   /* of the present request, in the units of its meter */
    atomic_int items;    /* inputs, or lines of a list, whose rows are made, of the present request */
    atomic_bool failed;  /* it ended itself, as memory ran out or a message was wrong: no decoder is to blame */
};

#endif
