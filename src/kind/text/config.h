/* The options of the text kind, and the state that bl_text_prepare derives from them once per run. */
#ifndef BL_TEXT_CONFIG_H
#define BL_TEXT_CONFIG_H

#include "base/documents.h"
#include "base/json.h"
#include "kind/kind.h"
#include "kind/row.h"
#include "kind/text/fim.h"
#include "kind/text/normal_form.h"
#include "kind/text/spool.h"
#include "kind/text/tokenizer.h"
#include "kind/text/vocabulary.h"

#define BL_JOIN                                                                                                        \
    "\\n" /* between the texts of several keys, unless the options say another; as the user would write it */
#define BL_MAX_DOCUMENT ((int64_t)256 << 20) /* bytes, unless the options say another */

/* The number of keys that are read from each line. */
#define BL_TEXT_KEYS(prepared)                                                                                         \
    (1 + (prepared)->keeps + (prepared)->fields + (prepared)->texts + ((prepared)->same_column != NULL))

enum bl_text_format {
    BL_TEXT_AUTO,
    BL_TEXT_JSONL,
    BL_TEXT_PLAIN,
    BL_TEXT_NPY,
    BL_TEXT_MEGATRON,
    BL_TEXT_JSON, /* an array, or lines, by its first byte */
    BL_TEXT_CSV,
    BL_TEXT_TSV,
    BL_TEXT_TOKENS /* --token-file, not a value of --format */
};

/* Columns of the table, beside those that are kept. */
#define BL_TEXT_HAD_BOS "bos.given"
#define BL_TEXT_HAD_EOS "eos.given"
#define BL_TEXT_SPECIALS "special.plain"
#define BL_TOKEN_COLUMNS 3 /* of --token-file */
#define BL_FIM_COLUMNS 3   /* of --fim */

enum bl_text_invalid { BL_INVALID_REPLACE, BL_INVALID_ERROR };

enum bl_megatron_unit { BL_MEGATRON_SEQUENCE, BL_MEGATRON_DOCUMENT };

/* A value of a JSON line that is kept as a column of the table, or a field: NAME=KEY. Numbers are attributes, too. */
struct bl_text_column {
    char name[BL_FIELD_NAME_MAX];
    enum bl_dtype dtype; /* of a field */
    bool is_number;      /* of a kept column: NAME=KEY:number */
};

/* What --token-file says (token_file.h). */
struct bl_token_spec {
    struct bl_id_number type; /* size 0: take it from the file's header or a file beside it */
    int64_t mark;             /* the id that separates documents without an index; -1: a file is one sequence */
    bool mark_begins;         /* the mark is the first id of a document, not the last */
    bool sequences;           /* each sequence of a Megatron index is a document */
    int64_t vocabulary;       /* ids are below it; 0: not given */
};

/* The state that bl_text_prepare derives from the options. bl_text_release frees it. */
struct bl_text_prepared {
    struct bl_tokenizer *tokenizer; /* NULL: the inputs are ids */
    struct bl_token_spec token_spec;
    struct bl_division_rule rule;
    char *separator;
    struct bl_document_marks begin, end;      /* of every document */
    int32_t pad;                              /* an id */
    int32_t fim[BL_FIM_PARTS];                /* ids of the tokens that begin the parts */
    int64_t id_max;                           /* the last id of the tokenizer, and of these marks */
    bool leaves_specials;                     /* the tokenizer has special tokens, and they stay plain text */
    struct bl_json_key key[BL_JSON_KEYS_MAX]; /* of the text, the kept columns, the fields, the further texts */
    int keeps, fields, texts;                 /* texts: further ones, joined to the first */
    struct bl_same_text same;                 /* what a subset compares, by the last key of all; or no key */
    char *same_column;                        /* the column of its digest; NULL: none */
    bool trained;                             /* there is a column BL_TRAINED, */
    int64_t head;                             /* of so many tokens, if not 0 */
    char *join;                               /* what is put between texts */
    size_t join_size;
    struct bl_text_column column[BL_JSON_KEYS_MAX]; /* by the same index; the first is not used */
    struct bl_fields out;                           /* tokens, and further fields */
    size_t step_bytes;
    struct bl_record_places *places; /* of arrays, and of tables of rows */
    struct bl_spool_index spool_index;
};

struct bl_text_config {
    struct bl_kind_config common; /* dtype: 0: I32, 1: U16 */
    const char *tokenizer, *pattern;
    int special;
    int lowercase; /* enum bl_lowercase */
    int format;    /* enum bl_text_format */
    const char *key, *join;
    const char *documents;
    const char *token_file;
    int megatron;         /* enum bl_megatron_unit */
    int64_t max_document; /* bytes */
    int invalid;          /* enum bl_text_invalid */
    bool add_special_tokens;
    const char *bos, *eos, *pad_id;
    const char *keep, *field;
    struct bl_fim fim;
    struct bl_text_prepared prepared; /* after prepare */
};

/* Returns the name of the i-th kept column that holds numbers, or NULL if there are fewer. */
static inline const char *bl_text_number(const struct bl_text_prepared *p, int i)
{
    for (int k = 1; k <= p->keeps; k++) {
        if (p->column[k].is_number && i-- == 0)
            return p->column[k].name;
    }
    return NULL;
}

#endif
