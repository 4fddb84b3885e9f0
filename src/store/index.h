/* index.safetensors: the plan on disk, and the checksum of every block of every field.
 *
 *   block_checksum I64 [B, fields]   XXH3 of the block's uncompressed bytes
 *   block_ptr      I64 [B + 1]       first piece of each block, then P
 *   sequence       I64 [P]           row of sequences.tsv
 *   source_start   I64 [P]           first step within the sequence
 *   length         I32 [P]
 *   start          I32 [P]           first step within the block
 *   NAME.length    I32 [P]           own steps of the piece, of each field with steps of its own;
 *   NAME.start     I32 [P]           the first of them within the block
 *
 * The tables are in this order, so that the plan digest, XXH3 over T (I64), the capacities of the own fields (I64) and
 * the plan's tables, covers the file from block_ptr to its end. Files are read and written in chunks.
 *
 * Repeated steps (--overlap N) need no table, because they follow from source_start: a piece with source_start > 0
 * repeats exactly N steps of the piece before, and the check of plans enforces that. So --overlap requires that each
 * sequence is stored from its first step on, and --remainder drop is refused. */
#ifndef BL_INDEX_H
#define BL_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/checksum.h"
#include "base/error.h"
#include "base/output.h"
#include "plan/plan.h"
#include "store/plan_info.h"
#include "store/safetensors.h"

/* --- tables ------------------------------------------------------------------------------------------------------- */

/* The tables of index.safetensors and their places, shared by its writer and its reader. */

#define BL_INDEX_FILE "index.safetensors"

enum bl_index_table {
    BL_INDEX_BLOCK_CHECKSUM,
    BL_INDEX_BLOCK_PTR,
    BL_INDEX_SEQUENCE,
    BL_INDEX_SOURCE_START,
    BL_INDEX_LENGTH,
    BL_INDEX_START,
    BL_INDEX_TABLES
};

struct bl_index_table_type {
    const char *name;
    enum bl_dtype dtype;
};

extern const struct bl_index_table_type bl_index_table_types[BL_INDEX_TABLES];

/* Returns the first table of an index. An index of 0 fields has no block checksums, and begins with block_ptr. */
int bl_index_first_table(int fields);

/* The tables above, then two for each own field: table BL_INDEX_TABLES + 2 * f has the own steps of the pieces, and the
 * one after it the starts. */
#define BL_INDEX_TENSORS_MAX (BL_INDEX_TABLES + 2 * BL_PLAN_COLUMNS_MAX)

/* Sets name, type, shape and offsets of all tables: BL_INDEX_TABLES and two for each own field. BL_EUSAGE: the file
 * would be too large. */
int bl_index_place(struct bl_tensor tensor[BL_INDEX_TENSORS_MAX], int64_t blocks, int64_t pieces, int fields,
                   const struct bl_plan_own *own, struct bl_error *e);

/* --- reading and writing ------------------------------------------------------------------------------------------ */

/* Computes the digest of a plan. length: the lengths of the sequences that the plan was made from. */
int bl_plan_digest(const struct bl_plan *plan, const int64_t *length, char digest[BL_DIGEST_SIZE], struct bl_error *e);

/* Writes a plan without a dataset, as a file with all tables but block_checksum. The metadata holds T, align,
 * plan_digest, the information about the plan as JSON ("words"), and lengths_digest, the XXH3 of the lengths (I64) of
 * all rows. The latter identifies the table that the plan was made from. length: [count]. */
int bl_index_write(struct bl_output *out, const struct bl_plan *plan, const int64_t *length, size_t count,
                   const struct bl_plan_info *plan_info, struct bl_error *e);

/* Computes lengths_digest of a table. length: [count]. */
void bl_index_digest_lengths(const int64_t *length, size_t count, char digest[BL_DIGEST_SIZE]);

/* Reads a file of bl_index_write and checks the plan against the lengths, and the own steps of its pieces against own
 * (the fields, with the lengths of all sequences; NULL: the file decides), as bl_plan_table_read does. T and align must
 * be the steps of a block and the alignment of the plan; 0: accept those of the file. plan_info: set to the information
 * in the file, which is checked against the plan; its member blocks is 0 if the file has no information; may be NULL.
 * Free the plan with bl_plan_free. */
int bl_index_load(struct bl_plan *plan, const char *path, int64_t T, int64_t align, const int64_t *length, size_t count,
                  const struct bl_plan_own *own, struct bl_plan_info *plan_info, struct bl_error *e);

struct bl_index_writer {
    struct bl_output out;
    const struct bl_plan *plan;
    const int64_t *length;
    size_t checksums_due; /* number of checksums that are still to be added */
};

/* To write the index of a dataset, call bl_index_begin, then bl_index_add_checksums any number of times with all
 * checksums in block order, then bl_index_finish. Call bl_index_abort at the end in any case: it removes an unfinished
 * file. The plan and the lengths must outlive the writer. */
int bl_index_begin(struct bl_index_writer *writer, const char *dir, const struct bl_plan *plan, const int64_t *length,
                   int fields, struct bl_error *e);
int bl_index_add_checksums(struct bl_index_writer *writer, const uint64_t *checksum, size_t count, struct bl_error *e);
int bl_index_finish(struct bl_index_writer *writer, struct bl_error *e);
void bl_index_abort(struct bl_index_writer *writer);

/* Computes the size, in bytes, of the index of a plan with that digest, without writing it. */
int bl_index_bytes(const struct bl_plan *plan, const char *digest, int fields, int64_t *bytes, struct bl_error *e);

/* An index opened for reading. */
struct bl_index {
    int fd;
    char *path;
    int64_t blocks, pieces;
    int64_t overlap;       /* steps that a piece repeats; set from the manifest by bl_dataset_open */
    int fields;            /* 0: the file has no block checksums */
    char T[24], align[24]; /* from the metadata; "" if missing */
    char plan_digest[BL_DIGEST_SIZE];
    char table[BL_DIGEST_SIZE];               /* lengths_digest from the metadata */
    char plan_info[8192];                     /* information about the plan as JSON, from the metadata */
    struct bl_plan_own own;                   /* names and capacities of the own fields; without lengths */
    int64_t offset[BL_INDEX_TENSORS_MAX + 1]; /* offset of each table in the file, then the end of the file */
};

/* Opens the index of the dataset or view in dir. BL_EDATA: it is invalid, or does not have that many blocks and fields.
 * The index of a view has 0 fields. */
int bl_index_open(struct bl_index *index, const char *dir, int64_t blocks, int fields, struct bl_error *e);
/* Returns true if the own fields of both have the same names and capacities, in the same order. */
bool bl_plan_own_is_same(const struct bl_plan_own *a, const struct bl_plan_own *b);
/* Sets the lengths of the sequences in the own fields of a plan that was read, and compares names and capacities; a
 * capacity of 0 in *own is not known. BL_EUSAGE: they differ. */
int bl_plan_own_join(struct bl_plan_own *plan, const struct bl_plan_own *own, struct bl_error *e);
/* Compares the names and capacities of the own fields with those of the manifest. BL_EDATA: they differ. */
int bl_index_check_own(const struct bl_index *index, const struct bl_fields *fields, struct bl_error *e);
/* Compares the plan digest in the metadata with this one. BL_EDATA: they differ. The tables are not read: see
 * bl_index_plan_digest. */
int bl_index_check_plan(const struct bl_index *index, const char *digest, struct bl_error *e);
void bl_index_close(struct bl_index *index);

/* Opens a file that bl_index_write made. */
int bl_index_open_plan(struct bl_index *index, const char *path, struct bl_error *e);

/* Returns the number of the table with the own steps of field f, or with their starts. */
static inline int bl_index_own_length(int f)
{
    return BL_INDEX_TABLES + 2 * f;
}

static inline int bl_index_own_start(int f)
{
    return BL_INDEX_TABLES + 2 * f + 1;
}

/* Copies elements first to first + count - 1 of a table to out, in the type of the table. The elements of
 * block_checksum are ordered by block, then by field. */
int bl_index_read(const struct bl_index *index, int table, int64_t first, int64_t count, void *out, struct bl_error *e);

/* A table to read, and the array for its elements. */
struct bl_index_column {
    int table; /* enum bl_index_table, or of an own field */
    void *out;
};

/* Reads elements first to first + count - 1 of several tables. */
int bl_index_read_columns(const struct bl_index *index, const struct bl_index_column *column, size_t columns,
                          int64_t first, int64_t count, struct bl_error *e);

/* Reads all tables and computes the plan digest for blocks of T steps. */
int bl_index_plan_digest(const struct bl_index *index, int64_t T, char digest[BL_DIGEST_SIZE], struct bl_error *e);

/* Reads the plan with all its blocks, and sets its T. The counts of the plan stay 0 until bl_plan_check sets them.
 * align: the alignment of the starts; 0: find one that explains all starts, and set plan->align to it. BL_EDATA:
 * block_ptr does not rise from 0 to P, a sequence is out of range, a piece ends beyond T, or a start does not follow
 * from the lengths before it and the alignment. Free the plan with bl_plan_free. */
int bl_index_read_plan(const struct bl_index *index, int64_t T, int64_t align, struct bl_plan *plan,
                       struct bl_error *e);

/* Reads only which sequences share a block: block_ptr and sequence, and source_start if is_cut. All other members of
 * the plan are 0. This takes a fraction of the time and memory of bl_index_read_plan. The error codes are the same.
 * Free the plan with bl_plan_free. */
int bl_index_read_members(const struct bl_index *index, bool is_cut, struct bl_plan *plan, struct bl_error *e);

/* Does the same as bl_index_read_plan for blocks first to end - 1 only, which become blocks 0 to end - first - 1 of the
 * plan. Reads only that part of the file. */
int bl_index_read_part(const struct bl_index *index, int64_t T, int64_t align, int64_t first, int64_t end,
                       struct bl_plan *plan, struct bl_error *e);

#endif
