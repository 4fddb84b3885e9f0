/* What an export is made of: the arrays of a block, the parts, which are its files, the formats of these files, and
 * what lies beside them. */
#ifndef BL_EXPORT_PART_H
#define BL_EXPORT_PART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/cancel.h"
#include "base/checksum.h"
#include "base/error.h"
#include "base/instream.h"
#include "base/output.h"
#include "run/options.h"
#include "store/blocks.h"

/* --- ids ---------------------------------------------------------------------------------------------------------- */

/* The ids of a block's sequences as JSON: a list of S texts, "" in a place without a sequence, and blanks behind it, so
 * that it has one size in all blocks as the arrays have. An id that is not UTF-8 is as it stands in sequences.tsv. */

/* Sets *bytes to the most that any block needs, and reads all rows of the table for it. BL_EFAIL and BL_EDATA: table or
 * plan cannot be read. */
int bl_export_ids_size(struct bl_blocks *blocks, struct bl_cancel *cancel, size_t *bytes, struct bl_error *e);

/* --- arrays ------------------------------------------------------------------------------------------------------- */

/* The arrays of a block that is exported: its fields and tables, in the order of their names. All blocks of a dataset
 * have the same. */

#define BL_EXPORT_ARRAYS_MAX (BL_FIELDS_MAX + BL_TABLES_ALL + 2)

struct bl_export_array {
    const char *name;    /* of the format */
    enum bl_dtype dtype; /* BF16 and BOOL stay what they are: formats without them store their bytes as U16 and U8 */
    int rank;            /* 0: a number */
    int64_t shape[BL_FIELD_RANK_MAX + 1];
    size_t bytes;
    int field, table; /* where it comes from: a field, or a table or attribute of the format; the other one is -1 */
    bool is_ids;      /* both are -1: it is the text of the ids, as U8 */
    bool is_repeated; /* both are -1: the steps that each piece repeats of the one before; with an overlap */
};

struct bl_export_arrays {
    struct bl_format format; /* of the dataset */
    int count;
    struct bl_export_array array[BL_EXPORT_ARRAYS_MAX];
    size_t bytes;    /* of all */
    int64_t overlap; /* of the plan */
};

/* Sets the arrays of a dataset's or view's blocks; valid as long as it is open. ids_bytes: of the text of their ids; 0:
 * without. BL_EUSAGE: another array has their name. */
int bl_export_arrays_set(struct bl_export_arrays *arrays, const struct bl_blocks *blocks, size_t ids_bytes,
                         struct bl_error *e);

/* The arrays of one block in memory. */
struct bl_export_block {
    uint8_t *memory;
    uint8_t *data[BL_EXPORT_ARRAYS_MAX]; /* by array */
    struct bl_buffer text;
};

int bl_export_block_make(struct bl_export_block *block, const struct bl_export_arrays *arrays, struct bl_error *e);
void bl_export_block_free(struct bl_export_block *block);

/* Reads block b. Errors as of bl_dataset_read. */
int bl_export_block_read(struct bl_export_block *block, const struct bl_export_arrays *arrays, struct bl_blocks *blocks,
                         int64_t b, struct bl_error *e);

/* --- parts -------------------------------------------------------------------------------------------------------- */

/* A part of an export: one file, which is written, or compared with one that exists. */

/* What is known of a finished part; kept in DIR/.bload/shard-00000000.record until the export is finished. */
struct bl_export_record {
    int64_t bytes; /* of the file, before compression */
    uint64_t checksum;
    int64_t zip_bytes; /* of the compressed file; 0: there is none */
    uint64_t zip_checksum;
};

struct bl_export_part {
    struct bl_checksum_state sum, zip_sum;
    struct bl_export_record record;
    struct bl_output out;
    struct zstd *zstd;      /* NULL: not compressed */
    struct bl_instream *in; /* the file that is compared; NULL: it is written */
    char *path;             /* of that file */
};

/* A part that is not open; aborting it is allowed. */
#define BL_EXPORT_PART_NONE                                                                                            \
    {                                                                                                                  \
        .out = {.fd = -1 }                                                                                             \
    }

/* Begins a file at path, which appears there when it is whole. bytes: how many will be put, before compression. */
int bl_export_part_open(struct bl_export_part *part, const char *path, const struct bl_compress *compress,
                        int64_t bytes, struct bl_error *e);
/* Opens an existing file, whose content has to be what is put. */
int bl_export_part_compare(struct bl_export_part *part, const char *path, struct bl_error *e);
/* Puts data. BL_EDATA: the file that is compared has other data there. */
int bl_export_part_put(struct bl_export_part *part, const void *data, size_t size, struct bl_error *e);
/* Ends the file, and sets the record; of a file that is compared, only bytes and checksum. */
int bl_export_part_commit(struct bl_export_part *part, struct bl_error *e);
/* Removes what was written; does nothing after bl_export_part_commit, or with an empty part. */
void bl_export_part_abort(struct bl_export_part *part);

void bl_export_record_format(const struct bl_export_record *record, struct bl_buffer *out);
/* False: it is no record. */
bool bl_export_record_parse(struct bl_export_record *record, const char *text);

/* --- formats ------------------------------------------------------------------------------------------------------ */

/* A format that datasets are exported to: how a part, one of its files, is made of blocks, and what lies beside the
 * parts. Arrays have one size in all blocks, so that all offsets follow from the number of blocks. */

#define BL_EXPORT_NAME_MAX 64

/* What is exported, and how. */
struct bl_export_job {
    const struct bl_export_format *format;
    struct bl_export_arrays arrays;
    struct bl_compress compress;
    int64_t shard_size;      /* bytes of a part, at most: but one block goes into each */
    int64_t blocks_per_part; /* of all but the last */
    int64_t parts;
    const char *output;
    const char *field;               /* --field; NULL: not given */
    bool ids;                        /* --ids */
    struct bl_blocks *blocks;        /* for the files beside the parts */
    struct bl_export_record *record; /* [parts]; zero of those that are not finished */
    bool compares;                   /* files are compared, and not written */
    struct bl_cancel *cancel;        /* ends the reading of ids */
};

struct bl_export_format {
    const char *name;   /* of --to */
    const char *reader; /* what reads it: the package, and its class */
    int64_t shard_size; /* without --shard-size */
    int64_t most;       /* bytes of a part */
    bool compresses;    /* whether --compress can be given */
    bool has_ids;       /* whether --ids can be given */
    /* Checks what the format cannot hold. BL_EUSAGE names it. May be NULL. */
    int (*check)(const struct bl_export_job *job, struct bl_error *e);
    /* The only array that the files have. NULL: they have all. */
    int (*only)(const struct bl_export_job *job);

    /* Bytes of a part with so many blocks, at most; if it can be compressed, exactly. */
    int64_t (*bytes)(const struct bl_export_job *job, int64_t blocks);
    void (*name_part)(const struct bl_export_job *job, int64_t part, char out[BL_EXPORT_NAME_MAX]);
    /* Puts what comes before, of, and after the blocks. begin and end may be NULL. */
    int (*begin)(const struct bl_export_job *job, int64_t blocks, struct bl_export_part *part, struct bl_error *e);
    int (*block)(const struct bl_export_job *job, int64_t b, const struct bl_export_block *block,
                 struct bl_export_part *part, struct bl_error *e);
    int (*end)(const struct bl_export_job *job, struct bl_export_part *part, struct bl_error *e);
    /* Writes the files beside the parts, by the records. May be NULL. */
    int (*finish)(const struct bl_export_job *job, struct bl_error *e);
};

extern const struct bl_export_format bl_export_mds, bl_export_webdataset, bl_export_energon, bl_export_megatron;

/* The names of all formats for an option, ended by NULL, and the formats in the same order. */
extern const char *const bl_export_format_names[];
extern const struct bl_export_format *const bl_export_formats[];

/* --- files beside the parts --------------------------------------------------------------------------------------- */

/* Writes one of the files beside the parts, OUTPUT/name, whose folder exists; or compares it. Frees the text. BL_EDATA:
 * it differs. */
int bl_export_write_file(const struct bl_export_job *job, const char *name, struct bl_buffer *text, struct bl_error *e);

/* Opens one of them for what a buffer cannot hold. file: ended as a part. BL_EDATA: it is to be compared, and not
 * there.
 */
int bl_export_open_file(const struct bl_export_job *job, const char *name, struct bl_export_part *file,
                        struct bl_error *e);

/* --- description -------------------------------------------------------------------------------------------------- */

/* export.json says what an export was made of, how, and lists its files; it is written last. */

#define BL_EXPORT_FILE "export.json"

struct bl_export_description {
    char *configuration; /* see export/export.h */
    char *dataset;       /* where the dataset was, relative to the export */
    char *tool;          /* the version that wrote it */
    int64_t blocks;
    int64_t bytes;      /* of all files, before compression */
    int64_t file_bytes; /* as they are */
    int64_t parts;
    char (*name)[BL_EXPORT_NAME_MAX]; /* [parts] of their files */
    struct bl_export_record *record;  /* [parts] */
};

/* dataset: the directory of the dataset or view. */
int bl_export_description_write(const struct bl_export_job *job, const char *configuration, const char *dataset,
                                const char *tool, struct bl_error *e);

/* Parses the text of export.json. BL_EDATA: damaged. On error *description is empty. */
int bl_export_description_parse(struct bl_export_description *description, const char *text, size_t size,
                                struct bl_error *e);

/* Reads DIR/export.json. Errors as of bl_export_description_parse. */
int bl_export_description_read(struct bl_export_description *description, const char *dir, struct bl_error *e);
void bl_export_description_free(struct bl_export_description *description);

/* Bytes of a part's file, and its checksum. */
int64_t bl_export_file_bytes(const struct bl_export_record *record);
uint64_t bl_export_file_checksum(const struct bl_export_record *record);

#endif
