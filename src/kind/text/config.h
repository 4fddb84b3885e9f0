/* The options of text, and what is made of them once: opened, parsed, looked up. */
#ifndef BL_TEXT_CONFIG_H
#define BL_TEXT_CONFIG_H

#include "kind/field.h"
#include "base/documents.h"
#include "base/json.h"
#include "kind/text/spool_index.h"
#include "kind/text/tokenizer.h"

#define BL_JOIN                                                                                                        \
    "\\n" /* between the texts of several keys, unless the options say another; as the user would write it */
#define BL_MAX_DOCUMENT ((int64_t)256 << 20) /* bytes, unless the options say another */

/* Keys of a line in all. */
#define BL_TEXT_KEYS(prepared) (1 + (prepared)->keeps + (prepared)->fields + (prepared)->texts)

enum bl_text_format {
    BL_TEXT_AUTO,
    BL_TEXT_JSONL,
    BL_TEXT_PLAIN,
    BL_TEXT_NPY,
    BL_TEXT_MEGATRON,
    BL_TEXT_JSON, /* an array, or lines, by its first byte */
    BL_TEXT_CSV,
    BL_TEXT_TSV
};

/* Columns of the table, beside those that are kept. */
#define BL_TEXT_HAD_BOS "bos.given"
#define BL_TEXT_HAD_EOS "eos.given"
#define BL_TEXT_SPECIALS "special.plain"

enum bl_text_invalid { BL_INVALID_REPLACE, BL_INVALID_ERROR };

enum bl_megatron_unit { BL_MEGATRON_SEQUENCE, BL_MEGATRON_DOCUMENT };

/* A value of a JSON line that is kept as a column of the table, or a field: NAME=KEY. */
struct bl_text_column {
    char name[BL_FIELD_NAME_MAX];
    enum bl_dtype dtype; /* of a field */
};

/* What is made of the options once: parsed, looked up, opened. */
struct bl_text_prepared {
    struct bl_tokenizer *tokenizer; /* NULL: the inputs are ids */
    struct bl_division_rule rule;
    char *separator;
    struct bl_document_marks begin, end;      /* of every document */
    int32_t pad;                              /* an id */
    int64_t id_max;                           /* the last id of the tokenizer, and of these marks */
    bool leaves_specials;                     /* the tokenizer has special tokens, and they stay plain text */
    struct bl_json_key key[BL_JSON_KEYS_MAX]; /* of the text, the kept columns, the fields, the further texts */
    int keeps, fields, texts;                 /* texts: further ones, joined to the first */
    char *join;                               /* what is put between texts */
    size_t join_size;
    struct bl_text_column column[BL_JSON_KEYS_MAX]; /* by the same index; the first is not used */
    struct bl_fields out;                           /* tokens, and further fields */
    size_t step_bytes;
    struct bl_record_places *places; /* of arrays, and of tables of rows */
    struct bl_spool_index spool_index;
};

struct bl_text_config {
    const char *tokenizer, *pattern;
    int special;
    int lowercase; /* enum bl_lowercase */
    int format;    /* enum bl_text_format */
    const char *key, *join;
    const char *documents;
    int megatron;         /* enum bl_megatron_unit */
    int64_t max_document; /* bytes */
    int invalid;          /* enum bl_text_invalid */
    bool add_special_tokens;
    const char *bos, *eos, *pad_id;
    int dtype; /* 0: I32, 1: U16 */
    const char *keep, *field;
    struct bl_text_prepared prepared; /* after prepare */
};

#endif
