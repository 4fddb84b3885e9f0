/* Opening the files of a finished dataset by their paths. The dataset may lie at a URL: its files are then objects, of
 * which bl_far_files makes copies (base/input_file.h). Files of the disk must be regular (base/fs.h). */
#ifndef BL_DATASET_FILE_H
#define BL_DATASET_FILE_H

#include "base/input_file.h"
#include "base/io.h"

/* Opens a file for reading by its descriptor. The caller closes it. BL_EFAIL, or BL_EDATA: it is no regular file. The
 * words of a store are those of its failure; a missing object is one, too. */
int bl_dataset_file_open(struct bl_input_file *file, const char *path, struct bl_error *e);

/* Sets whether there is a file dir/name. BL_EFAIL: that cannot be found out. */
int bl_dataset_file_find(const char *dir, const char *name, bool *found, struct bl_error *e);

/* Appends the content of a file, of at most max bytes. */
int bl_dataset_file_read(const char *path, size_t max, struct bl_buffer *out, struct bl_error *e);

/* Opens the lines of a file, as bl_lines_open does: also those of "-", or of a pipe. */
int bl_dataset_file_lines(struct bl_lines *lines, const char *path, struct bl_error *e);

/* Computes the checksum of a file, and sets its size, as bl_checksum_file does. */
int bl_dataset_file_checksum(const char *path, int64_t *bytes, uint64_t *checksum, struct bl_error *e);

#endif
