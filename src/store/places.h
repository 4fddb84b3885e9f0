/* rows.safetensors: where the sources of a view store each sequence.
 *
 *   block            I64 [N]      stored block of each part of a sequence, in its source; -1: the row is not stored
 *   row_ptr          I64 [R + 1]  first part of each row, then N; missing if every row has one part: then N = R
 *   source_start     I64 [N]      first step of the part within its sequence; missing if it is always 0
 *   attribute.NAME   [R]          I64 or F64, the attributes of the rows
 *   renamed          I64 [M]      ascending: rows with an id that another source has too; missing if there are none
 *   length           I32 [N]      steps of the part; 0: the row is not stored
 *   start            I32 [N]      first step within the block
 *   own.NAME.length  I32 [N]      own steps of the part, of each field with steps of its own; 0: none
 *   own.NAME.start   I32 [N]      the first of them within the block
 *
 * R is the number of rows of all sources, numbered continuously, source after source. The parts of a row are in the
 * order of their steps and follow each other without a gap, so that a range of parts holds any piece of a plan. For
 * example, if the row 7 of 5000 steps is stored as steps 0 to 4095 in block 2 and steps 4096 to 4999 in block 9, it has
 * two parts.
 *
 * Places belong to rows, not to pieces of a plan, so that all plans and epochs of a view share them; the file is mapped
 * into memory. Places leave out repeated steps (--overlap): each step has one place. So bload cat and joined sequences
 * have each step once, and older readers can read such views. */
#ifndef BL_PLACES_H
#define BL_PLACES_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "store/attribute_values.h"
#include "store/index.h"
#include "store/manifest.h"

#define BL_PLACES_FILE "rows.safetensors"
#define BL_PLACES_ATTRIBUTE "attribute."

/* The tables, in memory or mapped. */
struct bl_places {
    int64_t rows, parts;
    const int64_t *block;                        /* [parts] */
    const int32_t *start;                        /* [parts] */
    const int32_t *length;                       /* [parts] */
    const int64_t *row_ptr;                      /* [rows + 1] or NULL */
    const int64_t *source_start;                 /* [parts] or NULL */
    const int64_t *attribute[BL_ATTRIBUTES_MAX]; /* [rows] each: I64, or the bits of F64; only if read from a file */
    const int64_t *renamed;                      /* [renamed_count]; only if read from a file */
    int64_t renamed_count;
    int owns;                                 /* fields with steps of their own; the next two have [owns] arrays */
    const int32_t *own_length[BL_FIELDS_MAX]; /* [parts] each */
    const int32_t *own_start[BL_FIELDS_MAX];  /* [parts] each */
    void *map;                                /* the mapped file; NULL: block and the tables after it were allocated */
    size_t map_size;
};

/* A part of a stored sequence. */
struct bl_place {
    int64_t block, source_start;
    int32_t start, length;
};

/* Returns the number after the last part of a row. */
static inline int64_t bl_places_end(const struct bl_places *places, int64_t row)
{
    return places->row_ptr ? places->row_ptr[row + 1] : row + (places->length[row] > 0);
}

static inline struct bl_place bl_places_get(const struct bl_places *places, int64_t part)
{
    return (struct bl_place){places->block[part], places->source_start ? places->source_start[part] : 0,
                             places->start[part], places->length[part]};
}

/* These return the first stored step of a row, and the number of steps stored from there on. Both return 0 if the row
 * is not stored. */
int64_t bl_places_begin(const struct bl_places *places, int64_t row);
int64_t bl_places_steps(const struct bl_places *places, int64_t row);

/* Returns the part of a row that holds a step of the sequence; -1: the step is not stored. */
int64_t bl_places_find(const struct bl_places *places, int64_t row, int64_t step);

/* The own steps of a row. */
struct bl_own_place {
    int64_t block;
    int32_t start, length; /* length 0: the row has none, or they are not stored */
};

/* Returns where the own steps of a row lie, of own field k. */
struct bl_own_place bl_places_own(const struct bl_places *places, int64_t row, int k);

/* Collects the places of all rows from the indexes of the sources. index: [count]. first_row: [count + 1], the first
 * row of each source, then the number of all rows. own: the fields with steps of their own, by name; a source that
 * lacks one has no steps of it. BL_EDATA: a sequence is out of range, is stored twice, or lacks steps between its
 * parts; the message names the index. Free with bl_places_free. Memory: 16 bytes per row or, if a sequence is stored in
 * several parts, 32 bytes per part and 8 bytes per row. */
int bl_places_collect(struct bl_places *places, const struct bl_index *index, const int64_t *first_row, size_t count,
                      const struct bl_plan_own *own, struct bl_error *e);

/* Writes rows.safetensors of the view in dir. values: the attributes of the format for all rows. renamed:
 * [renamed_count]. */
int bl_places_write(const struct bl_places *places, const char *dir, const struct bl_format *format,
                    const struct bl_attribute_values *values, const int64_t *renamed, size_t renamed_count,
                    struct bl_error *e);

/* Maps rows.safetensors of the view in dir. Values are checked when they are used: see bl_places_find. BL_EDATA: a
 * table is missing, or its size does not match the manifest. */
int bl_places_open(struct bl_places *places, const char *dir, const struct bl_manifest *manifest, struct bl_error *e);

void bl_places_free(struct bl_places *places);

#endif
