/* Objects as inputs of a run: what is known of them, and copies of whole objects that are read like files.
 *
 * An object's size and tag are kept when it is listed, or first asked for. They stand for its content until the run
 * ends: another object under that URL is refused when it is fetched (remote.h). */
#ifndef BL_REMOTE_FILES_H
#define BL_REMOTE_FILES_H

#include <stdbool.h>

#include "base/cancel.h"
#include "base/error.h"
#include "remote/remote.h"

/* The objects of a process, for any number of threads. */
struct bl_remote_files;

/* Has inputs whose paths are URLs opened here (bl_far_set). libcurl is loaded when the first URL is used. options and
 * cancel must outlive the object. */
int bl_remote_files_open(struct bl_remote_files **out, const struct bl_remote_options *options,
                         const struct bl_cancel *cancel, struct bl_error *e);

/* Ends that, and removes the copies. NULL is accepted. */
void bl_remote_files_close(struct bl_remote_files *files);

/* Sets what is known of an object; the texts stay valid until close. Errors as those of bl_remote_stat: the size is -1
 * where there is no such object. */
int bl_remote_files_find(struct bl_remote_files *files, const char *url, struct bl_remote_object *object,
                         struct bl_error *e);

/* Lists objects as bl_remote_list does, and keeps what is known of each. */
int bl_remote_files_list(struct bl_remote_files *files, const char *url, bl_remote_emit *emit, void *context,
                         struct bl_error *e);

/* Sets the counts. False: no URL was used. */
bool bl_remote_files_count(struct bl_remote_files *files, struct bl_remote_counts *counts);

#endif
