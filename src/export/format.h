/* A format that datasets are exported to: how a part, one of its files, is made of blocks, and what lies beside the
 * parts. Arrays have one size in all blocks, so that all offsets follow from the number of blocks. */
#ifndef BL_EXPORT_FORMAT_H
#define BL_EXPORT_FORMAT_H

#include <stdint.h>

#include "export/arrays.h"
#include "export/part.h"

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

#endif
