/* Messages between processes of one program, over a stream socket: a type, numbers, texts and bytes, which the receiver
 * gets in the order in which they were put, and descriptors.
 *
 * The receiver need not trust the sender: a message with other contents than expected is damaged, no more. */
#ifndef BL_MESSAGE_H
#define BL_MESSAGE_H

#include "base/buffer.h"

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

#endif
