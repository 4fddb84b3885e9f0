/* The files in DIR/.bload, for a reader who takes no lock: all of them go when the dataset is finished. */
#ifndef BL_STATE_FILES_H
#define BL_STATE_FILES_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/buffer.h"
#include "base/error.h"
#include "store/format.h"

/* Numbers of shards, parts or tasks, ascending. */
struct bl_numbers {
    int64_t *at;
    size_t count, capacity;
};

struct bl_state_files {
    struct bl_numbers records, parts;
    struct bl_numbers scans, packs; /* tasks with a heartbeat */
    bool table, plan, plan_info, draft;
};

/* Reads the names. folder: the path of directory, for messages. Free with bl_state_files_free, also after an error. */
int bl_state_files_list(struct bl_state_files *files, DIR *directory, const char *folder, struct bl_error *e);
void bl_state_files_free(struct bl_state_files *files);

/* Drops records without a shard, which a process killed in between leaves: such a shard must still be packed. */
int bl_state_files_drop_lone(struct bl_state_files *files, const struct bl_format *format, const char *dir,
                             struct bl_error *e);

/* Counts the numbers in [begin, end). */
int64_t bl_numbers_count_within(const struct bl_numbers *numbers, int64_t begin, int64_t end);

/* Appends the file folder/name of at most max bytes to text, unless it is gone. */
int bl_state_files_read(const char *folder, const char *name, size_t max, struct bl_buffer *text, struct stat *status,
                        bool *found, struct bl_error *e);

#endif
