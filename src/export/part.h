/* The pieces of an export: the arrays of a block, the parts (one file each), the formats of these files, and the files
 * beside them. */
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

/* The ids of the sequences of a block as JSON: a list of S strings, with "" for an unused place. Spaces follow it, so
 * that it has the same size in all blocks, as arrays have. An id that is not UTF-8 keeps the escapes of sequences.tsv.
 */

/* Sets *bytes to the maximum size of the list over all blocks, for which all rows and the plan are read. BL_EFAIL or
 * BL_EDATA: the table or the plan cannot be read. */
int bl_export_ids_size(struct bl_blocks *blocks, struct bl_cancel *cancel, size_t *bytes, struct bl_error *e);

/* --- arrays ------------------------------------------------------------------------------------------------------- */

/* The arrays of an exported block: its fields and tables, sorted by name. All blocks of a dataset have the same arrays
 * with the same shapes. */

#define BL_EXPORT_ARRAYS_MAX (BL_FIELDS_MAX + BL_TABLES_ALL + 2)

struct bl_export_array {
    const char *name;    /* of the format */
    enum bl_dtype dtype; /* may be BF16 or BOOL: formats without these types store the bytes as U16 or U8 */
    int rank;            /* 0: a number */
    int64_t shape[BL_FIELD_RANK_MAX + 1];
    size_t bytes;
    int field, table; /* source of the array: a field, or a table or attribute of the format; the other one is -1 */
    bool is_ids;      /* the array is the text of the ids, as U8; field and table are -1 */
    bool is_repeated; /* the array is the number of steps that each piece repeats (--overlap); field and table are -1 */
};

struct bl_export_arrays {
    struct bl_format format; /* of the dataset */
    int count;
    struct bl_export_array array[BL_EXPORT_ARRAYS_MAX];
    size_t bytes;                                     /* of all */
    int64_t overlap;                                  /* of the plan */
    char own_name[BL_FIELDS_MAX][BL_TENSOR_NAME_MAX]; /* of the places of own fields */
};

/* Sets the arrays of the blocks, which are valid as long as blocks is open. ids_bytes: size of the array of ids; 0: no
 * such array. BL_EUSAGE: another array has the name of the ids. */
int bl_export_arrays_set(struct bl_export_arrays *arrays, const struct bl_blocks *blocks, size_t ids_bytes,
                         struct bl_error *e);

/* The arrays of one block in memory. */
struct bl_export_block {
    uint8_t *memory;
    uint8_t *data[BL_EXPORT_ARRAYS_MAX]; /* by array */
    struct bl_buffer text;
};

/* Makes the memory of a block, in which each array begins at a cache line. The caller frees it with
 * bl_export_block_free. BL_EFAIL: out of memory. */
int bl_export_block_make(struct bl_export_block *block, const struct bl_export_arrays *arrays, struct bl_error *e);
void bl_export_block_free(struct bl_export_block *block);

/* Reads block b. The error codes are those of bl_dataset_read. */
int bl_export_block_read(struct bl_export_block *block, const struct bl_export_arrays *arrays, struct bl_blocks *blocks,
                         int64_t b, struct bl_error *e);

/* --- parts -------------------------------------------------------------------------------------------------------- */

/* A part of an export: one file, which is written, or compared with one that exists. */

/* Sizes and checksums of a finished part. They are stored in DIR/.bload/shard-00000000.record until the export is
 * finished. */
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
    struct bl_instream *in; /* the existing file to compare with; NULL: the part is written */
    char *path;             /* path of the existing file */
};

/* A part that is not open; aborting it is allowed. */
#define BL_EXPORT_PART_NONE                                                                                            \
    {                                                                                                                  \
        .out = {.fd = -1 }                                                                                             \
    }

/* Begins to write a file, which appears at path when it is complete. bytes: number of bytes that will be put, before
 * compression. */
int bl_export_part_open(struct bl_export_part *part, const char *path, const struct bl_compress *compress,
                        int64_t bytes, struct bl_error *e);
/* Opens an existing file to compare it with the data that is put. */
int bl_export_part_compare(struct bl_export_part *part, const char *path, struct bl_error *e);
/* Writes or compares the next bytes. BL_EDATA: the existing file has other data at this place. */
int bl_export_part_put(struct bl_export_part *part, const void *data, size_t size, struct bl_error *e);
/* Ends the file, and sets part->record. If the file was compared, only bytes and checksum are set. */
int bl_export_part_commit(struct bl_export_part *part, struct bl_error *e);
/* Removes an unfinished file. Does nothing after bl_export_part_commit, or if the part is not open. */
void bl_export_part_abort(struct bl_export_part *part);

void bl_export_record_format(const struct bl_export_record *record, struct bl_buffer *out);
/* Parses a record. Returns false if the text is no record. */
bool bl_export_record_parse(struct bl_export_record *record, const char *text);

/* --- formats ------------------------------------------------------------------------------------------------------ */

/* A format of exports: how a part is made from blocks, and the files beside the parts. Each array has the same size in
 * all blocks, so that all offsets in a part follow from its number of blocks. */

#define BL_EXPORT_NAME_MAX 64

/* What is exported, and how. */
struct bl_export_job {
    const struct bl_export_format *format;
    struct bl_export_arrays arrays;
    struct bl_compress compress;
    int64_t shard_size;      /* maximum bytes of a part; a part has at least one block, even if it is larger */
    int64_t blocks_per_part; /* of all parts except the last */
    int64_t parts;
    const char *output;
    const char *field;               /* --field; NULL: not given */
    bool ids;                        /* --ids */
    struct bl_blocks *blocks;        /* for the files beside the parts */
    struct bl_export_record *record; /* [parts]; zero of those that are not finished */
    bool compares;                   /* compare existing files instead of writing them */
    struct bl_cancel *cancel;        /* ends the reading of ids */
};

struct bl_export_format {
    const char *name;   /* value of --to */
    const char *reader; /* package and class that read it */
    int64_t shard_size; /* default of --shard-size, in bytes */
    int64_t most;       /* maximum bytes of a part */
    bool compresses;    /* whether --compress can be given */
    bool has_ids;       /* whether --ids can be given */
    bool has_own;       /* whether fields with steps of their own can be exported, padded to their capacity */
    /* Checks that the format can hold the blocks. BL_EUSAGE: it cannot; the message says why. May be NULL. */
    int (*check)(const struct bl_export_job *job, struct bl_error *e);
    /* Returns the index of the only array that the files hold. NULL: they hold all arrays. */
    int (*only)(const struct bl_export_job *job);

    /* Returns the maximum bytes of a part with so many blocks; the exact bytes if the format can be compressed. */
    int64_t (*bytes)(const struct bl_export_job *job, int64_t blocks);
    void (*name_part)(const struct bl_export_job *job, int64_t part, char out[BL_EXPORT_NAME_MAX]);
    /* Put the data before the blocks, of each block, and after the blocks. begin and end may be NULL. */
    int (*begin)(const struct bl_export_job *job, int64_t blocks, struct bl_export_part *part, struct bl_error *e);
    int (*block)(const struct bl_export_job *job, int64_t b, const struct bl_export_block *block,
                 struct bl_export_part *part, struct bl_error *e);
    int (*end)(const struct bl_export_job *job, struct bl_export_part *part, struct bl_error *e);
    /* Writes or compares the files beside the parts, which list the parts by their records. May be NULL. */
    int (*finish)(const struct bl_export_job *job, struct bl_error *e);
};

extern const struct bl_export_format bl_export_mds, bl_export_webdataset, bl_export_energon, bl_export_megatron;

/* The names of all formats for an option, ended by NULL, and the formats in the same order. */
extern const char *const bl_export_format_names[];
extern const struct bl_export_format *const bl_export_formats[];

/* --- files beside the parts --------------------------------------------------------------------------------------- */

/* Writes the file OUTPUT/name beside the parts, or compares it. Its folder must exist. Frees the text, also on error.
 * BL_EDATA: the existing file differs. */
int bl_export_write_file(const struct bl_export_job *job, const char *name, struct bl_buffer *text, struct bl_error *e);

/* Opens a file beside the parts that is too large for a buffer. The caller puts its data and ends it as a part.
 * BL_EDATA: the file is to be compared, but is missing. */
int bl_export_open_file(const struct bl_export_job *job, const char *name, struct bl_export_part *file,
                        struct bl_error *e);

/* --- description -------------------------------------------------------------------------------------------------- */

/* export.json names the dataset and the options of an export, and lists its files. It is written last. */

#define BL_EXPORT_FILE "export.json"

struct bl_export_description {
    char *configuration; /* see export/export.h */
    char *dataset;       /* where the dataset was, relative to the export */
    char *tool;          /* the version that wrote it */
    int64_t blocks;
    int64_t bytes;      /* of all files, before compression */
    int64_t file_bytes; /* of all files on disk */
    int64_t parts;
    char (*name)[BL_EXPORT_NAME_MAX]; /* [parts] of their files */
    struct bl_export_record *record;  /* [parts] */
};

/* Writes export.json. dataset: the directory of the dataset or view. */
int bl_export_description_write(const struct bl_export_job *job, const char *configuration, const char *dataset,
                                const char *tool, struct bl_error *e);

/* Parses the text of export.json. BL_EDATA: damaged. On error *description is empty. */
int bl_export_description_parse(struct bl_export_description *description, const char *text, size_t size,
                                struct bl_error *e);

/* Reads DIR/export.json. Errors as of bl_export_description_parse. */
int bl_export_description_read(struct bl_export_description *description, const char *dir, struct bl_error *e);
void bl_export_description_free(struct bl_export_description *description);

/* These return the size in bytes of the file of a part as it is on disk, and its checksum. */
int64_t bl_export_file_bytes(const struct bl_export_record *record);
uint64_t bl_export_file_checksum(const struct bl_export_record *record);

#endif
