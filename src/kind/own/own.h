/* Own fields: fields with steps of their own, beside those of the sequence. A sequence of 300 frames may have 12 tokens
 * of a transcript, or 40 patches of an image, or none.
 *
 * An own field is an array, a text, pictures or frames of videos. A sequence has it in a file of its own, which is
 * named after the sequence as that of a companion is (kind/composite/composite.h), or in a column of the table of
 * sequences, which has an array, a text, or the paths of the files (own_files.h). The kind below stands around the kind
 * of the sources, whatever that is, and adds own fields to its sequences. It counts them when all other columns of a
 * row are known, so that a column may come from a table of attributes, and adds the columns NAME.path, NAME.bytes,
 * NAME.length and so on, or only NAME.length, at the end of the row. */
#ifndef BL_OWN_H
#define BL_OWN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "kind/composite/composite.h"
#include "kind/kind.h"
#include "kind/own/own_files.h"

/* --- own fields --------------------------------------------------------------------------------------------------- */

/* How shards store an own field. */
enum bl_own_storage {
    BL_OWN_AUTO,   /* flat if a step is large, otherwise padded */
    BL_OWN_PADDED, /* each block has as many steps as its capacity */
    BL_OWN_FLAT,   /* each block has the steps of its sequences alone */
};

/* The code that sets a text or a config owns it. */
struct bl_own_field {
    const char *name;
    const struct bl_kind *kind; /* bl_kind_array, bl_kind_text, or one that decodes, which may be isolated */
    void *config;               /* its options, prepared */
    const char *path;           /* of the files, as of a companion, or NULL */
    const char *column;         /* otherwise: the column of the table that has the values */
    bool has_files;             /* they are the paths of files */
    const char *list;           /* of these: the table that has the column; NULL: the input of the sequence */
    enum bl_dtype dtype;        /* of arrays in a column */
    int64_t capacity;           /* steps in a block; 0: as many as the plan needs */
    enum bl_own_storage storage;
    bool may_miss; /* a sequence without a file or a value has 0 steps, and is not unusable */
};

/* The caller sets the members up to `files`, and of files the directories and members; it owns everything to which
 * these point. bl_own_make sets the others. */
struct bl_own {
    struct bl_own_field field[BL_FIELDS_MAX];
    int fields;
    const struct bl_kind *inner; /* the kind of the sources, composite and isolated as it may be */
    void *inner_config;
    struct bl_composite files; /* part f + 1 has the files of field f */
    struct bl_kind kind;       /* its config is the whole struct */
    struct bl_kind_scan scan;
    struct bl_kind_read read;
    struct bl_kind_spool spool;
    struct bl_total total[BL_TOTALS_MAX + 1];
    char total_column[BL_FIELDS_MAX][2 * BL_FIELD_NAME_MAX];
    char total_text[BL_FIELDS_MAX][2 * BL_FIELD_NAME_MAX];
};

/* Makes own->kind. env has the isolation of the sources' kind. */
void bl_own_make(struct bl_own *own, const struct bl_kind_env *env);

/* Returns whether a field takes its values from the column. own may be NULL: there are no own fields. */
bool bl_own_uses_column(const struct bl_own *own, const char *column);

/* Checks that a table with these extra columns, a tab before each name, has the columns from which fields take values.
 * scanned: and those that counting has added. BL_EUSAGE names one that is not there. */
int bl_own_check_columns(const struct bl_own *own, const char *columns, bool scanned, struct bl_error *e);

/* --- counting and reading ----------------------------------------------------------------------------------------- */

/* The functions of the kind, whose config is a struct bl_own (struct bl_kind_scan, struct bl_kind_read). */
bl_counter_open bl_own_counter_open;
bl_kind_count bl_own_count;
bl_complete_columns bl_own_columns;
bl_complete_row bl_own_complete;
bl_reader_open bl_own_open;

/* Returns the part of own->files that has the files of field f. */
static inline const struct bl_composite_part *bl_own_part(const struct bl_own *own, int f)
{
    return &own->files.part[f + 1];
}

/* Returns whose the files are that the column of field f names. */
static inline struct bl_own_source bl_own_source(const struct bl_own *own, int f)
{
    return (struct bl_own_source){bl_own_part(own, f), own->files.sources_base};
}

/* Sets the number of own steps that the row has in field f. BL_EUSAGE: the table has no such column. */
int bl_own_row_length(const struct bl_own *own, int f, const struct bl_row *row, int64_t *length, struct bl_error *e);

/* Sets value to the text in the column of field f. A row without the column has an empty text. */
int bl_own_row_value(const struct bl_own *own, int f, const struct bl_row *row, struct bl_buffer *value,
                     struct bl_error *e);

/* Returns whether a kind decodes pictures, so that options decide its steps, and their number is that of files. */
bool bl_own_kind_is_media(const struct bl_kind *kind);

#endif
