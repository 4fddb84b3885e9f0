/* Counting the lines of a list of inputs: each becomes a row, which is skipped where the line is unusable. */
#ifndef BL_LIST_H
#define BL_LIST_H

#include "base/buffer.h"
#include "base/json.h"
#include "kind/chunk.h"
#include "kind/env.h"

/* Whether a file of this name is a list of clips: CSV, TSV, JSON lines or a .txt, plain or compressed. */
bool bl_list_has_name(const char *path);

/* The path that a line names, as the table has it, and to open. Start from {0}. */
struct bl_list_path {
    struct bl_buffer path, open_path;
};

/* from_list: a relative one counts from the list's folder, else from where all paths do. */
int bl_list_path_set(struct bl_list_path *out, const struct bl_chunk *chunk, const char *path, bool from_list,
                     struct bl_error *e);
void bl_list_path_free(struct bl_list_path *path);

/* Takes what a line names: an id, a path as rows have it, and the path to open. NULL: the line names none. */
typedef int bl_list_take(void *sink, const char *id, const char *path, const char *open_path, struct bl_error *e);

/* bl_kind_scan.names for clips. */
int bl_list_names_of_clip(const struct bl_chunk *chunk, const struct bl_line *line, bl_list_take *take, void *sink,
                          struct bl_error *e);

/* Takes a value of a manifest's line that becomes one of a column of this name. */
typedef int bl_list_value_take(void *sink, const char *name, const struct bl_json_value *value, struct bl_error *e);

/* bl_kind_scan.manifest_values: finds such values in a line, an object. */
typedef int bl_list_values(const struct bl_json_value *line, bl_list_value_take *take, void *sink, struct bl_error *e);

/* How a kind counts lines. */
struct bl_list_counting {
    /* Fills in the row of a line. BL_EDATA: it is unusable; what is known of the row is set nevertheless. */
    int (*fill)(void *counter, const struct bl_chunk *chunk, const struct bl_line *line, struct bl_row *row,
                struct bl_error *e);
    void *counter;
    char *reason; /* what fill appends to, of the row: a buffer that is emptied before each */
};

/* Emits a row for every line of the chunk, and for what ends the list early. */
int bl_list_count(const struct bl_list_counting *counting, const struct bl_kind_env *env, const struct bl_chunk *chunk,
                  bl_row_emit *emit, void *sink, struct bl_error *e);

#endif
