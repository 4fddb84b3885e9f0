/* Uploads files in the background, each with a small record after it, and removes those that are written.
 *
 * A file and its record are written once (once.h): where another run, or an earlier one that was killed, has written
 * them, they are compared. So a command that is given again sends what is missing. */
#ifndef BL_SENDER_H
#define BL_SENDER_H

#include <stdint.h>

#include "base/error.h"
#include "remote/remote.h"

struct bl_sender;

/* A file that the sender uploads, and its record. */
struct bl_sending {
    const char *path, *url;               /* a local file; it is removed when it and its record are written */
    const char *record_path, *record_url; /* a small file, which stays; or NULL */
};

/* Opens a sender that uploads up to so many files at once, from 1 to BL_SENDER_THREADS_MAX. No thread is started before
 * the first file. remote must outlive it. */
int bl_sender_open(struct bl_sender **out, struct bl_remote *remote, int threads, struct bl_error *e);

#define BL_SENDER_THREADS_MAX 64

/* Has a file sent, and copies the texts. It waits while as many files as there are threads are queued or under way, so
 * that no more than these, and the one that the caller makes, take space. The files must not change meanwhile.
 *
 * Returns the first error of any upload so far, after which nothing more is sent: as in once.h, and BL_ECANCEL. Files
 * that were not sent stay. */
int bl_sender_add(struct bl_sender *sender, const struct bl_sending *what, struct bl_error *e);

/* Waits until all files are sent, or one has failed. Returns the first error. */
int bl_sender_finish(struct bl_sender *sender, struct bl_error *e);

/* Waits for what is under way, which bl_remote_end ends soon, and drops what is queued. NULL is accepted. */
void bl_sender_close(struct bl_sender *sender);

/* Returns the memory that the threads take for files of up to this size. */
int64_t bl_sender_bytes(int threads, int64_t size);

#endif
