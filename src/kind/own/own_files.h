/* Files as the value of a column: the pictures or the clips of a sequence, whose steps lie one file behind the other.
 *
 * A value is a path, or a JSON list of paths and of objects, {"path": "a.mp4", "start": 1.5, "end": 3}, whose members
 * are the columns of a list of clips (kind/list.h). A path is relative to the folder of the table or list that has the
 * column. The scan adds the column NAME.files, by which the files are found again, and compared. */
#ifndef BL_OWN_FILES_H
#define BL_OWN_FILES_H

#include "kind/composite/composite.h"

/* The field whose files these are. */
struct bl_own_source {
    const struct bl_composite_part *part; /* its kind, config and name */
    const char *base;                     /* the directory that relative paths in the table refer to, or NULL */
};

/* Returns whether damage in the own file is a part of the sequence's reason: only if its steps are used. */
static inline bool bl_own_has_damage(const struct bl_row *file)
{
    return file->length > 0 && *file->reason;
}

/* --- values ------------------------------------------------------------------------------------------------------- */

/* The clips that a value names. Start from {0}; reusable. */
struct bl_own_files {
    struct bl_buffer text; /* the lines, in the form of kind/list.h, one behind the other */
    struct bl_line *line;  /* [count]; their texts are set when all are known */
    size_t *begin;         /* where each begins in text */
    size_t count, lines_capacity, begins_capacity;
    struct bl_buffer scratch;
};

/* Reads a value: an empty one, null and an empty list name no files. BL_EDATA: it is neither a path nor such a list. */
int bl_own_files_parse(struct bl_own_files *files, const char *text, size_t size, struct bl_error *e);
void bl_own_files_free(struct bl_own_files *files);

/* --- counting ----------------------------------------------------------------------------------------------------- */

/* The result of counting the files of a value. Start from {0}; reusable. */
struct bl_own_found {
    int64_t steps;           /* of all files */
    struct bl_buffer record; /* the column NAME.files, not escaped: the records below, a newline between two */
    struct bl_buffer reason; /* damage of files that are used, as bl_companion_append_damage appends it */
    struct bl_buffer names;  /* of the kind's own columns, a tab before each */
    size_t files;            /* rows that came */
    struct bl_buffer fault;  /* why the first unusable one is not usable, or empty */
    /* The arguments of the count: */
    const struct bl_composite_part *part;
    const char *list;
};

/* Counts the files of a value. source: their field. list: the path of the table or list that has the value, as rows
 * have it. BL_EDATA: one of them is unusable; the message names it. */
int bl_own_files_count(const struct bl_own_source *source, const struct bl_kind_env *env, struct bl_counter *counter,
                       const char *list, const struct bl_own_files *files, struct bl_own_found *found,
                       struct bl_error *e);
void bl_own_found_free(struct bl_own_found *found);

/* --- records ------------------------------------------------------------------------------------------------------ */

/* Reads the records of NAME.files in a row, one after the other. Start from {0} with source and row set. */
struct bl_own_records {
    struct bl_own_source source;
    const struct bl_row *row;
    bool begun;
    struct bl_buffer text;
    size_t at;
    char *path;             /* of the present file, as the table has it */
    char *open_path;        /* owned */
    struct bl_buffer names; /* of the kind's own columns, a tab before each */
    struct bl_row file;     /* the present file; path is openable, and its columns are those of the kind */
};

/* Sets records->file to the next file. *found false: there is none. BL_EUSAGE: the table has no such column; BL_EFAIL:
 * its value is malformed. */
int bl_own_records_next(struct bl_own_records *records, bool *found, struct bl_error *e);
void bl_own_records_free(struct bl_own_records *records);

#endif
