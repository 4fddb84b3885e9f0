/* The options of the text kind, and the state that bl_text_prepare derives from them once per run.
 *
 * The options are values of flags and keys, as the tables of options set them. The derived state holds what every
 * thread needs in its final form, such as the open tokenizer and the ids of marks. It is only read after
 * bl_text_prepare, so threads share it. */
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

#define BL_JOIN "\\n" /* default of --join, between the texts of several keys; with escapes, as a user writes it */
#define BL_MAX_DOCUMENT ((int64_t)256 << 20) /* bytes; default of --max-document */

/* The number of keys that are read from each line: the text, kept columns, fields, further texts, and the text that
 * a subset compares. */
#define BL_TEXT_KEYS(prepared)                                                                                         \
    (1 + (prepared)->keeps + (prepared)->fields + (prepared)->texts + ((prepared)->same_column != NULL))

enum bl_text_format {
    BL_TEXT_AUTO,
    BL_TEXT_JSONL,
    BL_TEXT_PLAIN,
    BL_TEXT_NPY,
    BL_TEXT_MEGATRON,
    BL_TEXT_JSON, /* an array, or lines, as the first byte says */
    BL_TEXT_CSV,
    BL_TEXT_TSV,
    BL_TEXT_TOKENS /* --token-file, not a value of --format */
};

/* Columns of the table of sequences that the text kind adds to kept columns. */
#define BL_TEXT_HAD_BOS "bos.given"      /* the document's own ids begin with --bos */
#define BL_TEXT_HAD_EOS "eos.given"      /* they end with --eos */
#define BL_TEXT_SPECIALS "special.plain" /* number of special tokens that are text */
#define BL_TOKEN_COLUMNS 3               /* columns that --token-file adds */
#define BL_FIM_COLUMNS 3                 /* columns that --fim adds */

/* What becomes of invalid UTF-8 (--invalid): U+FFFD, or a skipped document. */
enum bl_text_invalid { BL_INVALID_REPLACE, BL_INVALID_ERROR };

/* What becomes a sequence of a dataset: a sequence or a document of a Megatron index. */
enum bl_megatron_unit { BL_MEGATRON_SEQUENCE, BL_MEGATRON_DOCUMENT };

/* A value of a line that becomes a column of the table or a field: NAME=KEY. A column of numbers is an attribute,
 * too. */
struct bl_text_column {
    char name[BL_FIELD_NAME_MAX];
    enum bl_dtype dtype; /* of a field; a kept column does not use it */
    bool is_number;      /* of a kept column: NAME=KEY:number */
    bool is_whole;       /* of a kept column: its values are not shortened, since an own field is made of them, */
    bool is_list;        /* and one of these fields is no text */
};

/* The value of --token-file: how a file of ids is read (token_file.h). */
struct bl_token_spec {
    struct bl_id_number type; /* size 0: the file's header, or a file beside it, gives it */
    int64_t mark;             /* id that separates documents where there is no index; -1: a file is one sequence */
    bool mark_begins;         /* the mark is the first id of a document, not the last */
    bool sequences;           /* each sequence of a Megatron index is a document */
    int64_t vocabulary;       /* number of ids, all below it; 0: not given */
};

/* The state that bl_text_prepare derives from the options. It owns its pointers, and bl_text_release frees it. */
struct bl_text_prepared {
    struct bl_tokenizer *tokenizer; /* NULL: the inputs are ids */
    struct bl_token_spec token_spec;
    struct bl_division_rule rule; /* how plain text is cut into documents (--documents) */
    char *separator;
    struct bl_document_marks begin, end;      /* ids around every document */
    int32_t pad;                              /* id of padding */
    int32_t fim[BL_FIM_PARTS];                /* ids of the tokens that begin the parts of --fim */
    int64_t id_max;                           /* largest id of the tokenizer and of these marks */
    bool leaves_specials;                     /* the tokenizer has special tokens, which stay plain text */
    struct bl_json_key key[BL_JSON_KEYS_MAX]; /* of the text, the kept columns, the fields, the further texts */
    int keeps, fields, texts;                 /* numbers of keys; texts: further ones, joined to the first */
    struct bl_same_text same;                 /* what a subset compares, by the last key; or no key */
    char *same_column;                        /* the column of its digest; NULL: none */
    bool trained;                             /* there is a column BL_TRAINED */
    int64_t head;                             /* BL_TRAINED counts in so many first steps; 0: in all */
    char *join;                               /* bytes between texts, without escapes */
    size_t join_size;
    struct bl_text_column column[BL_JSON_KEYS_MAX]; /* column[i] belongs to key[i]; the first is not used */
    struct bl_fields out;                           /* the field `tokens`, then further fields */
    size_t step_bytes;                              /* bytes of a step in the spool, all fields together */
    struct bl_record_places *places;                /* where records of arrays and tables begin */
    struct bl_spool_index spool_index;
};

/* The values of the options. */
struct bl_text_config {
    struct bl_kind_config common; /* common.dtype: 0 is I32, 1 is U16 */
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
    struct bl_kind_key whole[BL_FIELDS_MAX]; /* [wholes] of bl_text_take_key */
    int wholes;
    struct bl_text_prepared prepared; /* valid after bl_text_prepare */
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
