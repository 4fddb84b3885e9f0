/* A sequence as kinds count and read it: the fields that its steps have, its row in the table, and the reasons for
 * which it is left out. */
#ifndef BL_ROW_H
#define BL_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

/* --- fields ------------------------------------------------------------------------------------------------------- */

/* A field: an array on the steps of sequences (frames, tokens, labels). */

enum bl_dtype {
    BL_U8,
    BL_I8,
    BL_BOOL,
    BL_I16,
    BL_U16,
    BL_F16,
    BL_BF16,
    BL_I32,
    BL_U32,
    BL_F32,
    BL_I64,
    BL_U64,
    BL_F64
};

/* Bytes of an element, and the name of the type in safetensors. */
size_t bl_dtype_size(enum bl_dtype dtype);
const char *bl_dtype_name(enum bl_dtype dtype);
/* Returns the type of that name, or -1. */
int bl_dtype_parse(const char *name);

#define BL_FIELD_RANK_MAX 4
#define BL_FIELDS_MAX 16
#define BL_FIELD_NAME_MAX 48
#define BL_RANK_UNKNOWN (-1) /* of an own field by a sequence that has no steps of it */

struct bl_field {
    char name[BL_FIELD_NAME_MAX]; /* the tensor's name in the shards */
    char kind[16];                /* the kind that makes it: "video" */
    enum bl_dtype dtype;
    int rank;                         /* of one step: 0 for scalars */
    int64_t shape[BL_FIELD_RANK_MAX]; /* of one step: {H, W, 3} */
    int part;                         /* the part of a composite that makes it; 0: the primary */
    int64_t pad;                      /* the padding value; other than 0 only for integers */
    bool lossless;                    /* of a kind: no encoding may change its values, as they are numbers of classes */
    bool own;                         /* it has steps of its own, beside those of the sequence: see kind/own/own.h */
    bool flat;                        /* of own fields: shards store the steps without padding (BL_STORAGE_FLAT) */
    int64_t capacity;                 /* of own fields: the most steps in a block */
};

struct bl_fields {
    int count;
    struct bl_field field[BL_FIELDS_MAX];
};

/* Returns the number of fields with steps of their own, and the place of own field f among them. */
int bl_fields_count_own(const struct bl_fields *fields);
int bl_fields_own_number(const struct bl_fields *fields, int f);

/* Bytes of one step of the field. It cannot overflow: shapes are limited to 2^40 bytes per step. */
size_t bl_field_step_bytes(const struct bl_field *field);

/* Returns whether one of the fields says which steps of a text are trained: loss_mask, with 0 where nothing is learned,
 * or labels, with -100 there. */
bool bl_fields_have_mask(const struct bl_fields *fields);

/* Returns how many of the steps are trained by all of these fields. data: the steps of each field. */
int64_t bl_fields_count_trained(const struct bl_fields *fields, const uint8_t *const data[BL_FIELDS_MAX],
                                int64_t steps);

/* Pads steps `from` to `to` - 1 of a block of the field: with its padding value, or with repetitions of the step
 * before. */
void bl_field_pad_between(const struct bl_field *field, uint8_t *block, size_t from, size_t to, bool repeat);

/* --- elements ----------------------------------------------------------------------------------------------------- */

/* Elements of fields as numbers. Fields are little-endian, as the machine is. */

/* Returns whether each step of the field is one integer. */
bool bl_element_is_integer(const struct bl_field *field);

/* Returns an element of an integer type; of U64, its bits. */
int64_t bl_element_integer(enum bl_dtype dtype, const uint8_t *element);

/* Returns an element of any type; NaN and infinities stay. */
double bl_element_number(enum bl_dtype dtype, const uint8_t *element);

/* --- rows --------------------------------------------------------------------------------------------------------- */

/* A row of sequences.tsv: a kind makes it when it counts a sequence, and gets it when it reads the sequence. */

/* The reason of a row that is skipped without fault. */
#define BL_REASON_EMPTY "empty document"

/* The reason of a row of a packed view that is dropped because another row has its steps. */
#define BL_REASON_HELD "held by another source of the view"

enum bl_row_status {
    BL_ROW_OK,      /* length steps can be read; with a reason: damaged, and only this much decodes */
    BL_ROW_SKIPPED, /* unusable: length 0, and the reason */
    BL_ROW_DROPPED, /* left out by request */
    BL_ROW_FAILED,  /* found unusable while packing */
};

/* The code that sets a text owns it. */
struct bl_row {
    const char *id;   /* unique over the table; valid as a file name below a folder, unescaped */
    int64_t length;   /* steps */
    const char *kind; /* its name: "video" */
    const char *path; /* of the file, as it was given */
    int64_t bytes;    /* of the file, at the scan */
    uint64_t content; /* digest of the file, or of the document: see kind/input_stat.h; 0: not known */
    enum bl_row_status status;
    const char *reason;   /* "" for an ok sequence without fault */
    const char *sampling; /* the options that decided the length, in canonical form: "all", "fps=12", "stride=2" */
    int stream;           /* the container's stream, or -1 where the kind knows none */
    int64_t offset;       /* set by counting: where the sequence begins in the (decompressed) file; its id has this
                             after '#'. -1: the file is the sequence */
    const char *form; /* set by counting, for the only ok row of a file: type and shape of its steps. A file is skipped
                         if they differ from those of the first file. Or NULL */
    /* For a part of a file in a manifest: numbers as text, in seconds, and of a channel. NULL or "": not given; without
     * a start the row is all of the file. */
    const char *start, *duration, *channel;
    /* For a clip: which frames (samples) of its file it has; end 0: the row is all of the file. seek: the kind's own,
     * where to begin to decode; NULL or "": at the beginning. */
    int64_t clip_begin, clip_end;
    const char *clip_seek;
    bool is_clip;        /* set by reading the table: the row comes from a list of clips, even if unusable */
    const char *extra;   /* values of extra columns, a tab before each, escaped; or NULL */
    const char *columns; /* their names, a tab before each; or NULL: not known */
    /* Set by counting on request (bl_chunk.times): */
    const double *times; /* [length] when steps begin, in seconds from the first; NULL: by their rate, or not known */
    double origin;       /* when the first step begins, in seconds of the file's clock; 0 if there is none */
};

const char *bl_row_status_name(enum bl_row_status status);

/* Returns the status of that name, or -1. */
int bl_row_status_parse(const char *name);

/* Returns whether a row is skipped without fault. */
bool bl_row_is_empty(const struct bl_row *row);

/* Returns whether a row is dropped because another row has its steps: nothing was left out. */
bool bl_row_is_held(const struct bl_row *row);

/* Returns whether the reason says that the file is damaged. */
bool bl_row_is_damaged(const struct bl_row *row);

/* Appends a reason to those that are there, after "; ". Text that does not fit into size bytes is cut off. */
void bl_row_append_reason(char *reason, size_t size, const char *format, ...) BL_PRINTF(3, 4);

/* Returns the offset in the row's id, or -1. */
int64_t bl_row_offset(const struct bl_row *row);

/* Appends the value of an extra column, unescaped; false: no such column, or malformed. */
bool bl_row_get_value(const struct bl_row *row, const char *name, struct bl_buffer *out);

/* Returns whether an extra column has this value, which must need no escapes; "": any value that is not empty. */
bool bl_row_has_value(const struct bl_row *row, const char *name, const char *value);

/* Returns the whole number in an extra column, or 0 if there is none. */
int64_t bl_row_get_number(const struct bl_row *row, const char *name);

/* Whether the length of a companion was adjusted to the row's: there are consecutive columns NAME.path, NAME.bytes and
 * NAME.length, and NAME.length differs. The steps of own fields are adjusted to nothing. */
bool bl_row_is_adjusted(const struct bl_row *row);

/* --- sequences left out ------------------------------------------------------------------------------------------- */

/* Sequences that are left out by request: their rows are dropped, have no length, and the reason names the option. */

/* Begins the reason; the option's name follows. */
#define BL_LEFT_OUT "left out by --"

/* The options, in the order in which they are applied. */
enum bl_left_out {
    BL_LEFT_OUT_EXCLUDE,
    BL_LEFT_OUT_EXTEND,
    BL_LEFT_OUT_WHERE,
    BL_LEFT_OUT_MIN_TRAINED,
    BL_LEFT_OUT_DEDUP,
    BL_LEFT_OUT_DEDUP_BY,
    BL_LEFT_OUT_TAKE,
    BL_LEFT_OUT_SHARE,
    BL_LEFT_OUT_FIRST,
    BL_LEFT_OUT_OPTIONS
};

struct bl_left_out_counts {
    int64_t by[BL_LEFT_OUT_OPTIONS]; /* rows */
};

/* Returns the option's name, without dashes. */
const char *bl_left_out_option(enum bl_left_out by);

/* Counts a row by its reason; any other reason counts for nothing. */
void bl_left_out_count(struct bl_left_out_counts *counts, const char *reason);

#endif
