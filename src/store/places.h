/* Where the sequences of a view's sources are stored: rows.safetensors.
 *
 *   block            I64 [N]      stored block of each part of a sequence, in its source; -1: the row is not stored
 *   row_ptr          I64 [R + 1]  first part of each row, then N; missing if every row has one part: then N = R
 *   source_start     I64 [N]      first step of the part within its sequence; missing if it is always 0
 *   attribute.NAME   [R]          I64 or F64, the attributes of the rows
 *   renamed          I64 [M]      ascending: rows with an id that another source has too; missing if there are none
 *   length           I32 [N]      steps of the part; 0: the row is not stored
 *   start            I32 [N]      first step within the block
 *
 * R rows: those of the sources' tables, numbered on through the sources. The parts of a row are in the order of their
 * steps and follow each other without a gap, so that a piece of a plan is a range of parts.
 *
 * Places are by row, not by piece of a plan: all plans and epochs of a view share them, and they are mapped. They are
 * without repeated steps (--overlap): views, bload cat and joined sequences have each step once, and older readers
 * read such views. */
#ifndef BL_PLACES_H
#define BL_PLACES_H

#include <stdbool.h>
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
    void *map; /* the mapped file, or NULL: block and the tables after it were allocated */
    size_t map_size;
};

/* A part of a stored sequence. */
struct bl_place {
    int64_t block, source_start;
    int32_t start, length;
};

static inline int64_t bl_places_end(const struct bl_places *places, int64_t row)
{
    return places->row_ptr ? places->row_ptr[row + 1] : row + (places->length[row] > 0);
}

static inline struct bl_place bl_places_get(const struct bl_places *places, int64_t part)
{
    return (struct bl_place){places->block[part], places->source_start ? places->source_start[part] : 0,
                             places->start[part], places->length[part]};
}

/* The first stored step of a row, and how many are stored from there on; 0: it is not stored. */
int64_t bl_places_begin(const struct bl_places *places, int64_t row);
int64_t bl_places_steps(const struct bl_places *places, int64_t row);

/* The part of a row that has this step of the sequence; -1: it is not stored. */
int64_t bl_places_find(const struct bl_places *places, int64_t row, int64_t step);

/* Collects the places of all rows from the indexes of the sources. index: [count], first_row: [count + 1], the first
 * row of each, then their sum. BL_EDATA: a sequence is out of range, is stored twice, or with steps missing between its
 * parts; the message names the index. Free with bl_places_free. Memory: 16 bytes for a row; 32 for a part and 8 for a
 * row if some sequence is stored in several parts. */
int bl_places_collect(struct bl_places *places, const struct bl_index *index, const int64_t *first_row, size_t count,
                      struct bl_error *e);

/* Writes VIEW/rows.safetensors. values: of the attributes of the format, all rows; renamed: [renamed_count]. */
int bl_places_write(const struct bl_places *places, const char *dir, const struct bl_format *format,
                    const struct bl_attribute_values *values, const int64_t *renamed, size_t renamed_count,
                    struct bl_error *e);

/* Maps VIEW/rows.safetensors. The contents are checked where they are used: see bl_places_find. BL_EDATA: a table is
 * missing, or has another size than manifest and rows say. */
int bl_places_open(struct bl_places *places, const char *dir, const struct bl_manifest *manifest, struct bl_error *e);

void bl_places_free(struct bl_places *places);

#endif
