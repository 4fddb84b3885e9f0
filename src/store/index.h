/* index.safetensors: the plan on disk, with the checksum of every block of every field.
 *
 *   block_checksum I64 [B, fields]   XXH3 of the block's uncompressed bytes
 *   block_ptr      I64 [B + 1]       first piece of each block, then P
 *   sequence       I64 [P]           row of sequences.tsv
 *   source_start   I64 [P]           first step within the sequence
 *   length         I32 [P]
 *   start          I32 [P]           first step within the block
 *
 * The tables are in this order, so that the plan digest, XXH3 over T (I64) and the plan's tables, covers the file from
 * block_ptr to its end. Files are read and written in chunks.
 *
 * Repeated steps (--overlap) follow from source_start, without a table: a piece that continues a sequence repeats
 * exactly N steps, which the check of plans enforces. So only sources that are stored from their first step on can
 * have them, and --remainder drop is refused. */
#ifndef BL_INDEX_H
#define BL_INDEX_H

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

/* The first table that an index has: without fields, there are no block checksums. */
int bl_index_first_table(int fields);

/* Sets name, type, shape and place of all tables. BL_EUSAGE: the file would be too large. */
int bl_index_place(struct bl_tensor tensor[BL_INDEX_TABLES], int64_t blocks, int64_t pieces, int fields,
                   struct bl_error *e);

/* --- reading and writing ------------------------------------------------------------------------------------------ */

/* The digest of a plan. length: what it was made from. */
int bl_plan_digest(const struct bl_plan *plan, const int64_t *length, char digest[BL_DIGEST_SIZE], struct bl_error *e);

/* Writes a plan alone, in a file of its own: all tables but block_checksum. The metadata has T, align, plan_digest, the
 * plan's information as JSON ("words"), and lengths_digest, XXH3 over the lengths (I64) of all rows, which identifies
 * the table that the plan was made from. */
int bl_index_write(struct bl_output *out, const struct bl_plan *plan, const int64_t *length, size_t count,
                   const struct bl_plan_info *plan_info, struct bl_error *e);

/* The digest of a table's lengths. */
void bl_index_digest_lengths(const int64_t *length, size_t count, char digest[BL_DIGEST_SIZE]);

/* Reads such a file and checks it against the lengths, as bl_plan_table_read does. T: steps of its blocks, align: the
 * alignment of its starts; 0: as the file says. plan_info (or NULL): the file's own, which is checked against the plan;
 * its blocks are 0 if the file has none. Free with bl_plan_free. */
int bl_index_load(struct bl_plan *plan, const char *path, int64_t T, int64_t align, const int64_t *length, size_t count,
                  struct bl_plan_info *plan_info, struct bl_error *e);

struct bl_index_writer {
    struct bl_output out;
    const struct bl_plan *plan;
    const int64_t *length;
    size_t checksums_due; /* still missing */
};

/* Writing: begin; all checksums in block order, in any number of calls; finish. Call bl_index_abort afterwards in any
 * case: it removes an unfinished file. */
int bl_index_begin(struct bl_index_writer *writer, const char *dir, const struct bl_plan *plan, const int64_t *length,
                   int fields, struct bl_error *e);
int bl_index_add_checksums(struct bl_index_writer *writer, const uint64_t *checksum, size_t count, struct bl_error *e);
int bl_index_finish(struct bl_index_writer *writer, struct bl_error *e);
void bl_index_abort(struct bl_index_writer *writer);

/* The size of the file that this makes of a plan with that digest. */
int bl_index_bytes(const struct bl_plan *plan, const char *digest, int fields, int64_t *bytes, struct bl_error *e);

/* An index opened for reading. */
struct bl_index {
    int fd;
    char *path;
    int64_t blocks, pieces;
    int64_t overlap;       /* of the manifest's plan: set by bl_dataset_open */
    int fields;            /* 0: a plan alone */
    char T[24], align[24]; /* from the metadata; "" if missing */
    char plan_digest[BL_DIGEST_SIZE];
    char table[BL_DIGEST_SIZE];          /* lengths_digest */
    char plan_info[2048];                /* JSON */
    int64_t offset[BL_INDEX_TABLES + 1]; /* of each table in the file, then the end */
};

/* Opens DIR's index, which must have that many blocks and fields; 0 fields: of a view. BL_EDATA: invalid. */
int bl_index_open(struct bl_index *index, const char *dir, int64_t blocks, int fields, struct bl_error *e);
/* Whether the index says that it is of the plan with this digest. BL_EDATA: it is another's; its tables are not read.
 */
int bl_index_check_plan(const struct bl_index *index, const char *digest, struct bl_error *e);
void bl_index_close(struct bl_index *index);

/* Opens a plan alone. */
int bl_index_open_plan(struct bl_index *index, const char *path, struct bl_error *e);

/* Copies elements first .. first + count - 1 of a table, in the table's type. block_checksum is ordered by block, then
 * field. */
int bl_index_read(const struct bl_index *index, enum bl_index_table table, int64_t first, int64_t count, void *out,
                  struct bl_error *e);

/* A table of pieces that is read, and where its elements go. */
struct bl_index_column {
    enum bl_index_table table;
    void *out;
};

/* Reads the same elements of several tables. */
int bl_index_read_columns(const struct bl_index *index, const struct bl_index_column *column, size_t columns,
                          int64_t first, int64_t count, struct bl_error *e);

/* The plan digest of the tables in the file, for blocks of T steps. */
int bl_index_plan_digest(const struct bl_index *index, int64_t T, char digest[BL_DIGEST_SIZE], struct bl_error *e);

/* Reads the whole plan, with T set; bl_plan_check fills its counts. BL_EDATA: block_ptr does not rise from 0 to P, a
 * sequence is out of range, a piece ends beyond T, or a start does not follow from the lengths before it and the
 * alignment. align 0: any alignment that explains all starts; it becomes plan->align. Free with bl_plan_free. */
int bl_index_read_plan(const struct bl_index *index, int64_t T, int64_t align, struct bl_plan *plan,
                       struct bl_error *e);

/* Reads only which sequences share a block: block_ptr and sequence, and source_start if is_cut; all other members of
 * the plan are 0. A fraction of the time and memory. Errors as above. Free with bl_plan_free. */
int bl_index_read_members(const struct bl_index *index, bool is_cut, struct bl_plan *plan, struct bl_error *e);

/* The same as bl_index_read_plan for blocks first to end - 1, which become the plan's blocks from 0 on. Only that part
 * of the file is read.
 */
int bl_index_read_part(const struct bl_index *index, int64_t T, int64_t align, int64_t first, int64_t end,
                       struct bl_plan *plan, struct bl_error *e);

#endif
