/* Defines the options of the text kind, and prepares their values for a scan.
 *
 * Every mistake is found before the first file is read: a wrong key, a token that the tokenizer does not have, or ids
 * that do not fit --dtype u16. The messages name the option and the remedy. */
#include "kind/text/options.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "kind/text/token_file.h"
#include "kind/text/tokenizer_tiktoken.h"

/* --- keys --------------------------------------------------------------------------------------------------------- */

/* Returns true if the name can be that of a column. The header of the table has names as they are, so control
 * characters and backslashes would need escapes there. */
static bool is_column_name(const char *name)
{
    size_t left = strlen(name), size;
    for (; left; name += size, left -= size) {
        size = bl_utf8_length(name, left);
        if (!size || (unsigned char)*name < ' ' || *name == 0x7f || *name == '\\')
            return false;
    }
    return true;
}

/* Sets *dtype to the type of this name, in any case of letters. Returns false if fields cannot have the type. */
static bool column_dtype_parse(const char *text, size_t size, enum bl_dtype *dtype)
{
    static const enum bl_dtype known[] = {BL_U8, BL_I8, BL_U16, BL_I16, BL_I32, BL_I64, BL_F32};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        *dtype = known[i];
        if (strlen(bl_dtype_name(*dtype)) == size && strncasecmp(bl_dtype_name(*dtype), text, size) == 0)
            return true;
    }
    return false;
}

/* Parses "NAME=KEY:DTYPE" as column k, such as "source=meta.source" or "loss_mask=mask:u8". NAME and DTYPE are
 * optional. Only fields have types; a kept column may have "number" there. */
static int column_parse(struct bl_text_prepared *p, int k, const char *text, size_t size, bool is_field,
                        struct bl_error *e)
{
    struct bl_text_column *column = &p->column[k];
    /* The first "=" ends the name, and the last ":" begins the type: keys may have colons. */
    const char *end = text + size, *equals = memchr(text, '=', size), *key = equals ? equals + 1 : text;
    const char *colon = is_field ? memrchr(key, ':', (size_t)(end - key)) : NULL, *key_end = colon ? colon : end;
    if (!is_field) {
        /* Takes ":number" off the key. Only the last colon can begin it; other colons belong to the key, as in
         * "dc:title". The name of a type is refused: it is a mistake that --field suggests. */
        const char *mark = memrchr(key, ':', (size_t)(end - key));
        size_t mark_size = mark ? (size_t)(end - mark - 1) : 0;
        column->is_number = mark_size == strlen("number") && memcmp(mark + 1, "number", mark_size) == 0;
        if (column->is_number)
            key_end = mark;
        else if (mark && column_dtype_parse(mark + 1, mark_size, &column->dtype))
            return bl_error_set(e, BL_EUSAGE, "--keep \"%.*s\": a number of each document is KEY:number (F64)",
                                (int)(end - key), key);
    }
    /* Without NAME=, the column has the name of the key. */
    size_t key_size = (size_t)(key_end - key), name_size = equals ? (size_t)(equals - text) : key_size;
    if (!name_size || name_size >= sizeof column->name)
        return bl_error_set(e, BL_EUSAGE, "\"%.*s\" is not NAME=KEY", (int)size, text);
    memcpy(column->name, text, name_size);
    /* A key a\.b has a dot in its name, and its column has the name a.b. */
    for (char *dot = column->name; !equals && (dot = strstr(dot, "\\.")); dot++)
        memmove(dot, dot + 1, strlen(dot));
    if (!is_column_name(column->name))
        return bl_error_set(e, BL_EUSAGE,
                            "\"%.*s\": a name is UTF-8 without backslash or control characters: give another one, as "
                            "in NAME=KEY",
                            (int)size, text);
    if (!bl_json_key_parse(&p->key[k], key, key_size))
        return bl_error_set(e, BL_EUSAGE, "\"%.*s\" is not a key (a.b is b within a, a\\.b a name with a dot)",
                            (int)key_size, key);
    /* Fields have I32 unless they name a type. */
    column->dtype = BL_I32;
    if (colon && !column_dtype_parse(colon + 1, (size_t)(end - colon - 1), &column->dtype))
        return bl_error_set(e, BL_EUSAGE, "\"%.*s\": a field's type is u8, i8, u16, i16, i32, i64 or f32", (int)size,
                            text);
    return BL_OK;
}

/* Parses a list "A,B" and appends its columns to the others. *count: p->keeps or p->fields, which grows. */
static int columns_parse(struct bl_text_prepared *p, const char *list, bool is_field, int *count, struct bl_error *e)
{
    /* A list that ends with a comma has an empty last entry, which is refused. */
    for (const char *at = list; at;) {
        const char *end = strchrnul(at, ',');
        /* Key 0 is that of the text. */
        int k = 1 + p->keeps + p->fields;
        /* The scanner of JSON looks for a fixed number of keys at once. */
        if (k == BL_JSON_KEYS_MAX)
            return bl_error_set(e, BL_EUSAGE, "more than %d keys in --keep and --field", BL_JSON_KEYS_MAX - 1);
        BL_TRY(column_parse(p, k, at, (size_t)(end - at), is_field, e));
        ++*count;
        at = *end ? end + 1 : NULL;
    }
    return BL_OK;
}

void bl_text_take_key(void *values, const struct bl_kind_key *key)
{
    struct bl_text_config *config = values;
    if (config->wholes < BL_FIELDS_MAX)
        config->whole[config->wholes++] = *key;
}

/* Makes a kept column of a key that the options do not keep already, and marks the column as whole. The column has the
 * key's name, in which a\\.b is a.b. */
static int whole_parse(struct bl_text_prepared *p, const struct bl_kind_key *whole, struct bl_error *e)
{
    int k = 1, last = 1 + p->keeps;
    struct bl_text_column *column = &p->column[last];
    if (strlen(whole->name) >= sizeof column->name)
        return bl_error_set(e, BL_EUSAGE, "key: \"%s\" is longer than %zu bytes", whole->name, sizeof column->name - 1);
    if (last == BL_JSON_KEYS_MAX)
        return bl_error_set(e, BL_EUSAGE, "more than %d keys in --keep and fields", BL_JSON_KEYS_MAX - 1);
    char name[BL_FIELD_NAME_MAX];
    strcpy(name, whole->name);
    for (char *dot = name; !whole->is_column && (dot = strstr(dot, "\\.")); dot++)
        memmove(dot, dot + 1, strlen(dot));
    while (k < last && strcmp(p->column[k].name, name) != 0)
        k++;
    p->column[k].is_whole = true;
    p->column[k].is_list |= !whole->is_text;
    if (k < last || whole->is_column)
        return BL_OK;
    if (!is_column_name(name) || !bl_json_key_parse(&p->key[k], whole->name, strlen(whole->name)))
        return bl_error_set(e, BL_EUSAGE, "key: \"%s\" is not a key (a.b is b within a, a\\.b a name with a dot)",
                            whole->name);
    strcpy(column->name, name);
    p->keeps++;
    return BL_OK;
}

/* Refuses kept columns with names that the table has for other columns, or that are used twice. fim: the table has the
 * columns of --fim, the last three of the list. */
static int columns_check_kept(const struct bl_text_prepared *p, bool fim, struct bl_error *e)
{
    static const char *const taken[] = {
        "id",     "length",  "kind",          "path",          "bytes",          "status", "reason",    "sampling",
        "stream", "content", BL_TEXT_HAD_BOS, BL_TEXT_HAD_EOS, BL_TEXT_SPECIALS, "fim",    "fim.begin", "fim.end"};
    /* Kept columns are free to use the names of columns that this table does not have. */
    size_t takens = sizeof taken / sizeof *taken - (fim ? 0 : 3);
    for (int k = 1; k <= p->keeps; k++) {
        for (size_t i = 0; i < takens; i++) {
            if (strcmp(p->column[k].name, taken[i]) == 0)
                return bl_error_set(e, BL_EUSAGE,
                                    "--keep: the table has a column \"%s\" of its own: give another name, as in "
                                    "text.%s=%s",
                                    taken[i], taken[i], taken[i]);
        }
        for (int j = 1; j < k; j++) {
            if (strcmp(p->column[k].name, p->column[j].name) == 0)
                return bl_error_set(e, BL_EUSAGE, "--keep: two columns \"%s\"", p->column[k].name);
        }
    }
    return BL_OK;
}

/* Parses --key, --join, --keep and --field into p. BL_EUSAGE: an option is wrong. */
static int text_keys_prepare(const struct bl_text_config *config, struct bl_text_prepared *p, struct bl_error *e)
{
    /* The first key of the text is key 0; the others follow the columns and fields, so that the indexes of these do not
     * depend on the number of texts. */
    BL_TRY(columns_parse(p, config->keep, false, &p->keeps, e));
    if (config->token_file && config->wholes && !config->whole[0].is_column)
        return bl_error_set(e, BL_EUSAGE, "--token-file: the inputs are ids alone, without a key \"%s\"",
                            config->whole[0].name);
    for (int i = 0; i < config->wholes; i++)
        BL_TRY(whole_parse(p, &config->whole[i], e));
    BL_TRY(columns_parse(p, config->field, true, &p->fields, e));
    int k = 0;
    for (const char *at = config->key; at;) {
        const char *end = strchrnul(at, ',');
        if (k == BL_JSON_KEYS_MAX)
            return bl_error_set(e, BL_EUSAGE, "more than %d keys in --key, --keep and --field", BL_JSON_KEYS_MAX);
        if (!bl_json_key_parse(&p->key[k], at, (size_t)(end - at)))
            return bl_error_set(e, BL_EUSAGE,
                                "--key: \"%.*s\" is not a key (a.b is b within a, a\\.b a name with a dot)",
                                (int)(end - at), at);
        /* texts counts the keys after the first one. */
        p->texts += k > 0;
        k = BL_TEXT_KEYS(p);
        at = *end ? end + 1 : NULL;
    }
    p->join = strdup(config->join ? config->join : BL_JOIN);
    if (!p->join)
        return bl_error_memory(e);
    /* Escapes are removed in place, since the text never becomes longer. */
    int64_t size = bl_text_unescape(p->join, strlen(p->join));
    if (size < 0)
        return bl_error_set(e, BL_EUSAGE, "--join: after a backslash comes n, t, r, \\ or xHH");
    if (bl_utf8_valid(p->join, (size_t)size) != (size_t)size)
        return bl_error_set(e, BL_EUSAGE, "--join is not UTF-8");
    p->join_size = (size_t)size;
    return columns_check_kept(p, config->fim.given, e);
}

/* Adds the key of --dedup-by behind all others, and the name of the column with its digest. */
static int keys_want_same(struct bl_text_prepared *p, const struct bl_same_text *same, struct bl_error *e)
{
    struct bl_buffer name = {0};
    /* The index behind all keys so far. */
    int k = BL_TEXT_KEYS(p);
    bl_same_text_append_column(same, &name);
    int code = bl_buffer_check(&name, e);
    if (!code && k == BL_JSON_KEYS_MAX)
        code =
            bl_error_set(e, BL_EUSAGE, "more than %d keys in --key, --keep, --field and --dedup-by", BL_JSON_KEYS_MAX);
    else if (!code && (!bl_json_key_parse(&p->key[k], same->key, same->size) || !is_column_name(name.data)))
        code =
            bl_error_set(e, BL_EUSAGE, "--dedup-by: \"%.*s\" is not a key (a.b is b within a, a\\.b a name with a dot)",
                         (int)same->size, same->key);
    if (code) {
        bl_buffer_free(&name);
        return code;
    }
    /* The name moves to p, which bl_text_release frees. */
    p->same = *same;
    p->same_column = name.data;
    return BL_OK;
}

int bl_text_keys_want(void *values, const struct bl_kind_wanted *wanted, struct bl_error *e)
{
    const struct bl_text_config *config = values;
    struct bl_text_prepared *p = &((struct bl_text_config *)values)->prepared;
    if (config->token_file && wanted->trained)
        return bl_error_set(e, BL_EUSAGE, "--token-file: the inputs are ids alone, so leave --min-trained out");
    if (config->token_file) /* no keys: the subset compares a column, or reports that there is none */
        return BL_OK;
    p->trained = wanted->trained;
    p->head = wanted->head;
    /* Only these fields say which tokens count in the loss. */
    if (wanted->trained && !bl_fields_have_mask(&p->out))
        return bl_error_set(e, BL_EUSAGE,
                            "--min-trained counts the tokens that a field loss_mask or labels trains: give it, as in "
                            "--field loss_mask=KEY:u8");
    BL_TRY(wanted->same ? keys_want_same(p, wanted->same, e) : BL_OK);
    /* Kept columns must not have the name of a column that subsets add. */
    for (int k = 1; k <= p->keeps; k++) {
        const char *name = p->column[k].name;
        bool is_same = p->same_column && strcmp(name, p->same_column) == 0;
        if (is_same || (p->trained && strcmp(name, BL_TRAINED) == 0))
            return bl_error_set(e, BL_EUSAGE, "--keep: the column \"%s\" is that of --%s: give another name", name,
                                is_same ? "dedup-by" : "min-trained");
    }
    return BL_OK;
}

/* --- options ------------------------------------------------------------------------------------------------------ */

/* The choices are in the order of their enums (config.h). */
static const char *const tokenizer_words[] = {"bytes", NULL};
static const char *const special_choices[] = {"plain", "parse", NULL};
static const char *const lowercase_choices[] = {"auto", "yes", "no", NULL};
static const char *const format_choices[] = {"auto", "jsonl", "plain", "npy", "megatron", "json", "csv", "tsv", NULL};
static const char *const megatron_choices[] = {"sequence", "document", NULL};
static const char *const invalid_choices[] = {"replace", "error", NULL};

/* Returns true if Hugging Face's or tiktoken's cache has a model of this name. Such a name is no path. */
static bool tokenizer_is_cached(const char *name)
{
    struct bl_buffer path = {0};
    struct bl_error e = {0};
    bool found = false;
    bool cached = bl_model_cache_find(name, &path, &found, &e) == BL_OK && found;
    bl_buffer_free(&path);
    return cached;
}

const struct bl_option bl_text_options[] = {
    BL_OPTION_PATH(
        "tokenizer", struct bl_text_config, tokenizer, BL_AFFECTS_NOTHING,
        "tokenizer.json, vocab.json (merges.txt beside it), vocab.txt, tekken.json, a .tiktoken or .model "
        "file; a folder with one of these names; a model in Hugging Face's cache or an encoding in tiktoken's; or "
        "bytes: a token is a byte",
        .placeholder = "FILE|FOLDER|MODEL|bytes", .choices = tokenizer_words, .is_name = tokenizer_is_cached),
    BL_OPTION_STRING("pattern", struct bl_text_config, pattern, BL_AFFECTS_LENGTHS,
                     "encoding of a .tiktoken file (r50k, llama3, qwen ...), or the regular expression of its words; "
                     "published files need none",
                     .placeholder = "NAME|REGEX"),
    BL_OPTION_CHOICE("special", struct bl_text_config, special, special_choices, BL_AFFECTS_LENGTHS,
                     "special tokens in a text stay plain text, or become the token (parse)", .initial = "plain",
                     .only = "tokenizer"),
    BL_OPTION_CHOICE("lowercase", struct bl_text_config, lowercase, lowercase_choices, BL_AFFECTS_LENGTHS,
                     "for a vocab.txt: make text lower case, without accents; auto: if no token has upper case",
                     .initial = "auto", .only = "tokenizer"),
    BL_OPTION_CHOICE("format", struct bl_text_config, format, format_choices, BL_AFFECTS_LENGTHS,
                     "format of the files; auto: by their names", .initial = "auto"),
    BL_OPTION_STRING("key", struct bl_text_config, key, BL_AFFECTS_LENGTHS,
                     "key or column with the text, or an array of ids; a.b is b within a, a\\.b a name with a dot; the "
                     "texts of several keys are joined",
                     .initial = "text", .placeholder = "KEY,..."),
    BL_OPTION_STRING("join", struct bl_text_config, join, BL_AFFECTS_LENGTHS,
                     "what to put between the texts of several keys, with \\n, \\t, \\r, \\\\ and \\xHH [\\n]",
                     .placeholder = "TEXT"),
    BL_OPTION_STRING("documents", struct bl_text_config, documents, BL_AFFECTS_LENGTHS,
                     "what is a document of plain text; TEXT may have \\n, \\t, \\r, \\\\ and \\xHH", .initial = "file",
                     .placeholder = "file|line|blank-line|sep:TEXT"),
    BL_OPTION_STRING("token-file", struct bl_text_config, token_file, BL_AFFECTS_LENGTHS,
                     "the inputs are flat files of ids (.bin, .npy without a header, .ds): their type and the id that "
                     "divides documents, or auto, what an .idx, .ds.index or header says",
                     .placeholder = "dtype=TYPE,eos=ID|auto", .unlisted = true),
    BL_OPTION_CHOICE(
        "megatron", struct bl_text_config, megatron, megatron_choices, BL_AFFECTS_LENGTHS,
        "what is a document of Megatron's files: each sequence, or those of a document of the index joined",
        .initial = "sequence"),
    BL_OPTION_BYTES("max-document", struct bl_text_config, max_document, BL_AFFECTS_LENGTHS,
                    "skip longer documents, lines and elements of JSON, rows: a bound on memory", .initial = "256M",
                    .min = 1),
    BL_OPTION_CHOICE("invalid", struct bl_text_config, invalid, invalid_choices, BL_AFFECTS_LENGTHS,
                     "invalid UTF-8: replace it by U+FFFD, or skip the document (error)", .initial = "replace"),
    BL_OPTION_FLAG("add-special-tokens", struct bl_text_config, add_special_tokens, BL_AFFECTS_LENGTHS,
                   "begin and end every document as the post-processor of the tokenizer.json says",
                   .only = "tokenizer"),
    BL_OPTION_CUSTOM("fim", &bl_option_fim, struct bl_fim, struct bl_text_config, fim, BL_AFFECTS_LENGTHS,
                     "fill-in-the-middle: cut this share of the documents (0 to 1) at two characters, and move the "
                     "middle to the end; spm=SHARE of them in the form SPM [0.5], the others in PSM; seed=N; "
                     "prefix=TOKEN,middle=TOKEN,suffix=TOKEN, unless the tokenizer has known ones",
                     .placeholder = "RATE[,spm=SHARE][,...]", .only = "tokenizer", .unlisted = true),
    BL_OPTION_STRING("bos", struct bl_text_config, bos, BL_AFFECTS_LENGTHS,
                     "begin every document with this token, unless it is there", .placeholder = "TOKEN|ID"),
    BL_OPTION_STRING("eos", struct bl_text_config, eos, BL_AFFECTS_LENGTHS,
                     "end every document with this token, unless it is there", .placeholder = "TOKEN|ID"),
    BL_OPTION_STRING("pad-id", struct bl_text_config, pad_id, BL_AFFECTS_BYTES,
                     "fill the end of a block with this token [0]", .placeholder = "TOKEN|ID"),
    BL_OPTION_STRING("keep", struct bl_text_config, keep, BL_AFFECTS_LENGTHS,
                     "keep other keys or columns as columns of sequences.tsv; KEY:number is also a tensor [n,S], F64",
                     .placeholder = "[NAME=]KEY[:number],..."),
    BL_OPTION_STRING(
        "field", struct bl_text_config, field, BL_AFFECTS_LENGTHS,
        "arrays of JSONL with one number for each token become extra fields (I32; labels are padded with -100)",
        .placeholder = "NAME=KEY[:DTYPE],..."),
    {0},
};

/* Refuses options that flat files of ids cannot use, since the files have neither text nor keys. */
static int token_file_check(const struct bl_text_config *config, struct bl_error *e)
{
    const struct {
        const char *option;
        bool given;
    } others[] = {{"tokenizer", config->tokenizer},
                  {"pattern", config->pattern},
                  {"format", config->format != BL_TEXT_AUTO},
                  {"key", strcmp(config->key, "text") != 0},
                  {"join", config->join},
                  {"documents", strcmp(config->documents, "file") != 0},
                  {"megatron", config->megatron != BL_MEGATRON_SEQUENCE},
                  {"keep", config->keep},
                  {"field", config->field},
                  {"fim", config->fim.given}};
    struct bl_token_spec spec;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (others[i].given)
            return bl_error_set(e, BL_EUSAGE, "--token-file: the inputs are ids alone, so leave --%s out",
                                others[i].option);
    }
    return bl_token_spec_parse(config->token_file, &spec, e);
}

int bl_text_check(const void *values, struct bl_error *e)
{
    const struct bl_text_config *config = values;
    BL_TRY(config->token_file ? token_file_check(config, e) : BL_OK);
    /* Both would add marks, and documents would have them twice. */
    if (config->add_special_tokens && (config->bos || config->eos))
        return bl_error_set(e, BL_EUSAGE,
                            "--add-special-tokens and --%s both say what documents %s with: use one of them",
                            config->bos ? "bos" : "eos", config->bos ? "begin" : "end");
    /* The values of a field belong to tokens one by one, so no option may add or move tokens. */
    if (config->field && (config->bos || config->eos || config->add_special_tokens))
        return bl_error_set(
            e, BL_EUSAGE,
            "--field has one number for each token of the inputs, and --bos and --eos add tokens: leave them out");
    if (config->field && config->fim.given)
        return bl_error_set(
            e, BL_EUSAGE,
            "--field has one number for each token of the inputs, and --fim moves tokens and adds some: "
            "leave one of them out");
    /* Several arrays of ids cannot be joined by a text. */
    if (!config->tokenizer && strchr(config->key, ','))
        return bl_error_set(e, BL_EUSAGE, "--key: the texts of several keys need --tokenizer");
    /* One text has nothing to join. */
    if (config->join && !strchr(config->key, ','))
        return bl_error_set(e, BL_EUSAGE, "--join is for the texts of several keys: --key A,B");
    /* A pattern is a part of a tokenizer. */
    if (config->pattern && !config->tokenizer)
        return bl_error_set(e, BL_EUSAGE, "--pattern needs --tokenizer");
    return BL_OK;
}

/* --- documents ---------------------------------------------------------------------------------------------------- */

/* Parses --documents into p->rule: a word, or sep: and a text with escapes. */
static int rule_prepare(const struct bl_text_config *config, struct bl_text_prepared *p, struct bl_error *e)
{
    static const struct {
        const char *word;
        enum bl_division by;
    } known[] = {{"file", BL_DIVISION_FILE}, {"line", BL_DIVISION_LINE}, {"blank-line", BL_DIVISION_BLANK_LINE}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(config->documents, known[i].word) == 0) {
            p->rule.by = known[i].by;
            return BL_OK;
        }
    }
    /* Other texts than the words and sep: are most likely mistyped words. */
    if (strncmp(config->documents, "sep:", 4) != 0)
        return bl_error_set(e, BL_EUSAGE, "--documents expects file, line, blank-line or sep:TEXT, not \"%s\"",
                            config->documents);
    /* The rule points into p->separator, which bl_text_release frees. */
    p->separator = strdup(config->documents + 4);
    if (!p->separator)
        return bl_error_memory(e);
    int64_t size = bl_text_unescape(p->separator, strlen(p->separator));
    if (size <= 0 || size > BL_SEPARATOR_MAX)
        return bl_error_set(e, BL_EUSAGE, "--documents sep: needs a text after it, with \\n \\t \\r \\\\ or \\xHH");
    p->rule = (struct bl_division_rule){
        .by = BL_DIVISION_SEPARATOR, .separator = p->separator, .separator_size = (size_t)size};
    return BL_OK;
}

/* --- tokens ------------------------------------------------------------------------------------------------------- */

/* Sets *id to the id of a token that the user gave by its number, its text or the name that the tokenizer's folder has
 * for it, such as "eos_token". missing: the id if text is NULL. A text of digits is a number, even where a token has
 * that text. */
static int token_resolve(const struct bl_text_config *config, const char *option, const char *text, int32_t missing,
                         int32_t *id, struct bl_error *e)
{
    const struct bl_tokenizer *tokenizer = config->prepared.tokenizer;
    /* The largest id depends on the dtype of the field "tokens". */
    int64_t number = missing, max = config->common.dtype ? UINT16_MAX : INT32_MAX;
    if (text && !bl_text_to_int(text, strlen(text), 0, INT32_MAX, &number)) {
        /* The text of a token comes first: "<s>_token" may be a token, too. */
        int32_t found = tokenizer ? bl_tokenizer_find(tokenizer, text) : -1;
        size_t size = strlen(text), suffix = strlen("_token");
        if (found < 0 && tokenizer && size > suffix && strcmp(text + size - suffix, "_token") == 0)
            BL_TRY(bl_tokenizer_find_named(tokenizer, text, &found, e));
        if (found < 0)
            return bl_error_set(e, BL_EUSAGE, "--%s: %s \"%s\"", option,
                                tokenizer ? "the tokenizer has no token" : "without --tokenizer there is no token",
                                text);
        number = found;
    }
    if (number > max)
        return bl_error_set(e, BL_EUSAGE, "--%s: the id %" PRId64 " does not fit --dtype u16", option, number);
    *id = (int32_t)number;
    return BL_OK;
}

/* Sets the mark to the token that the user gave. Without the option, the mark of the tokenizer stays. */
static int mark_resolve(const struct bl_text_config *config, const char *option, const char *text,
                        struct bl_document_marks *marks, struct bl_error *e)
{
    if (!text)
        return BL_OK;
    marks->count = 1;
    return token_resolve(config, option, text, -1, &marks->id[0], e);
}

/* Sets the tokens of fill-in-the-middle: those that the user named, or those of the first family of which the tokenizer
 * has all three. Models differ: <fim_prefix> of StarCoder, <|fim_prefix|> of Qwen. */
static int fim_prepare(const struct bl_text_config *config, struct bl_text_prepared *p, struct bl_error *e)
{
    const char *const *family = NULL;
    int code = BL_OK;
    if (!config->fim.given)
        return BL_OK;
    /* The user names all three tokens or none, so the first one tells. */
    for (size_t f = 0; !config->fim.token[0].text && (family = bl_fim_family(f)); f++) {
        int found = 0;
        /* A family counts only if all three tokens are there. */
        for (int i = 0; i < BL_FIM_PARTS; i++)
            found += bl_tokenizer_find(p->tokenizer, family[i]) >= 0;
        if (found == BL_FIM_PARTS)
            break;
    }
    if (!config->fim.token[0].text && !family)
        return bl_error_set(
            e, BL_EUSAGE,
            "--fim: the tokenizer %s has no fill-in-the-middle tokens of a known name (<fim_prefix>, "
            "<|fim_prefix|>, [PREFIX] ...): name them, as in --fim 0.5,prefix=TOKEN,middle=TOKEN,suffix=TOKEN",
            bl_tokenizer_name(p->tokenizer));
    for (int i = 0; i < BL_FIM_PARTS && !code; i++) {
        /* The option's text is one string, so the name is copied to end with a zero byte. */
        char *name = family ? strdup(family[i]) : strndup(config->fim.token[i].text, config->fim.token[i].size);
        code = name ? token_resolve(config, "fim", name, -1, &p->fim[i], e) : bl_error_memory(e);
        free(name);
    }
    /* Equal tokens would make the parts of a document impossible to tell apart. */
    bool distinct = p->fim[0] != p->fim[1] && p->fim[0] != p->fim[2] && p->fim[1] != p->fim[2];
    if (!code && !distinct)
        code = bl_error_set(e, BL_EUSAGE, "--fim: prefix, middle and suffix are three different tokens");
    return code;
}

/* Opens the tokenizer, and resolves the tokens that the options name. */
static int tokens_prepare(const struct bl_text_config *config, struct bl_text_prepared *p, struct bl_error *e)
{
    struct bl_tokenizer_options options = {.path = config->tokenizer,
                                           .pattern = config->pattern,
                                           .special = config->special != 0,
                                           .add_special_tokens = config->add_special_tokens,
                                           .lowercase = (enum bl_lowercase)config->lowercase};
    BL_TRY(config->tokenizer ? bl_tokenizer_open(&p->tokenizer, &options, e) : BL_OK);
    /* The largest id counts, not the number of tokens in a document. */
    if (p->tokenizer && config->common.dtype && bl_tokenizer_size(p->tokenizer) > UINT16_MAX + 1)
        return bl_error_set(e, BL_EUSAGE, "--dtype u16: the tokenizer has ids up to %" PRId64 ", u16 holds 65535",
                            bl_tokenizer_size(p->tokenizer) - 1);
    if (p->tokenizer)
        bl_tokenizer_marks(p->tokenizer, &p->begin, &p->end);
    /* Without --special parse, special tokens of the text stay text; a column counts them. */
    p->leaves_specials = p->tokenizer && bl_tokenizer_leaves_plain(p->tokenizer);
    /* --bos and --eos replace the marks of the tokenizer. */
    BL_TRY(mark_resolve(config, "bos", config->bos, &p->begin, e));
    BL_TRY(mark_resolve(config, "eos", config->eos, &p->end, e));
    int code = fim_prepare(config, p, e);
    if (!code)
        code = token_resolve(config, "pad-id", config->pad_id, 0, &p->pad, e);
    /* --bos, --eos, --pad-id and --fim may name ids beyond the tokenizer's, which are then valid in all inputs. */
    p->id_max = p->tokenizer ? bl_tokenizer_size(p->tokenizer) - 1 : 0;
    const int32_t other[] = {
        p->pad, p->begin.count ? p->begin.id[0] : 0, p->end.count ? p->end.id[0] : 0, p->fim[0], p->fim[1], p->fim[2]};
    /* The largest of all ids is the bound for ids in the inputs. */
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        p->id_max = other[i] > p->id_max ? other[i] : p->id_max;
    return code;
}

/* Lists the fields of the dataset: tokens, then those of --field. Sets the bytes of a step over all fields. */
static int fields_prepare(const struct bl_text_config *config, struct bl_text_prepared *p, struct bl_error *e)
{
    /* The field "tokens" comes before those of --field. */
    if (p->fields + 1 > BL_FIELDS_MAX)
        return bl_error_set(e, BL_EUSAGE, "--field: at most %d fields", BL_FIELDS_MAX - 1);
    p->out.count = 1 + p->fields;
    /* Readers expect the ids in the first field. */
    p->out.field[0] = (struct bl_field){
        .name = "tokens", .kind = "text", .dtype = config->common.dtype ? BL_U16 : BL_I32, .pad = p->pad};
    for (int f = 1; f <= p->fields; f++) {
        const struct bl_text_column *column = &p->column[p->keeps + f];
        struct bl_field *field = &p->out.field[f];
        *field = (struct bl_field){.kind = "text", .dtype = column->dtype};
        memcpy(field->name, column->name, sizeof field->name);
        /* Loss functions of PyTorch skip the label -100. */
        bool is_label = strcmp(column->name, "labels") == 0 && column->dtype != BL_U8 && column->dtype != BL_U16;
        field->pad = is_label && column->dtype != BL_F32 ? -100 : 0;
    }
    p->step_bytes = 0;
    for (int f = 0; f < p->out.count; f++)
        p->step_bytes += bl_field_step_bytes(&p->out.field[f]);
    return BL_OK;
}

int bl_text_prepare(void *values, struct bl_buffer *warning, struct bl_error *e)
{
    struct bl_text_config *config = values;
    struct bl_text_prepared *p = &config->prepared;
    BL_TRY(config->token_file ? bl_token_spec_parse(config->token_file, &p->token_spec, e) : BL_OK);
    /* The mark is an id like those of the file, so it must fit the dtype, too. */
    if (config->common.dtype && p->token_spec.mark > UINT16_MAX)
        return bl_error_set(e, BL_EUSAGE, "--token-file: the id %" PRId64 " does not fit --dtype u16",
                            p->token_spec.mark);
    BL_TRY(rule_prepare(config, p, e));
    BL_TRY(text_keys_prepare(config, p, e));
    BL_TRY(tokens_prepare(config, p, e));
    /* Warnings go to the caller: only src/cmd prints. */
    const char *said = p->tokenizer ? bl_tokenizer_warning(p->tokenizer) : NULL;
    if (said)
        bl_buffer_text(warning, said);
    BL_TRY(bl_record_places_open(&p->places, e));
    return fields_prepare(config, p, e);
}

void bl_text_release(void *values)
{
    struct bl_text_prepared *p = &((struct bl_text_config *)values)->prepared;
    bl_tokenizer_close(p->tokenizer);
    bl_spool_index_free(&p->spool_index);
    bl_record_places_close(p->places);
    free(p->separator);
    free(p->join);
    free(p->same_column);
    *p = (struct bl_text_prepared){0};
}

/* --- options for a file ------------------------------------------------------------------------------------------- */

enum bl_text_format bl_text_format_of(const struct bl_text_config *config, const char *path)
{
    static const struct {
        const char *extension;
        enum bl_text_format format;
    } known[] = {{"jsonl", BL_TEXT_JSONL},  {"ndjson", BL_TEXT_JSONL}, {"json", BL_TEXT_JSON},
                 {"csv", BL_TEXT_CSV},      {"tsv", BL_TEXT_TSV},      {"npy", BL_TEXT_NPY},
                 {"idx", BL_TEXT_MEGATRON}, {"bin", BL_TEXT_MEGATRON}};
    if (config->token_file)
        return BL_TEXT_TOKENS;
    if (config->format != BL_TEXT_AUTO)
        return (enum bl_text_format)config->format;
    /* Standard input has no name. JSON, in lines or as one array, is its usual content. */
    if (strcmp(path, "-") == 0)
        return BL_TEXT_JSON;
    /* Compressed files keep the extension of their content: "a.jsonl.gz". */
    size_t size = strlen(path);
    if (size > 3 && strcasecmp(path + size - 3, ".gz") == 0)
        size -= 3;
    else if (size > 4 && strcasecmp(path + size - 4, ".zst") == 0)
        size -= 4;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const char *extension = known[i].extension;
        size_t tail = strlen(extension);
        if (size > tail && path[size - tail - 1] == '.' && strncasecmp(path + size - tail, extension, tail) == 0)
            return known[i].format;
    }
    return BL_TEXT_PLAIN;
}

void bl_text_sampling(const void *values, struct bl_buffer *out)
{
    const struct bl_text_config *config = values;
    const struct bl_text_prepared *p = &config->prepared;

    if (p->tokenizer)
        /* The digest covers the content of the tokenizer, so that its path may change. */
        bl_buffer_printf(out, "tokenizer=%016" PRIx64, bl_tokenizer_digest(p->tokenizer));
    else
        bl_buffer_text(out, "tokenizer=none");
    /* Defaults are left out, which keeps the table small: every row has this text. */
    if (strcmp(config->key, "text") != 0)
        bl_buffer_printf(out, " key=%s", config->key);
    /* The join counts only where several texts are joined. */
    if (p->texts)
        bl_buffer_printf(out, " join=%s", config->join ? config->join : BL_JOIN);
    if (strcmp(config->documents, "file") != 0)
        bl_buffer_printf(out, " documents=%s", config->documents);
    if (config->token_file)
        bl_buffer_printf(out, " token-file=%s", config->token_file);
    bl_buffer_text(out, config->megatron == BL_MEGATRON_DOCUMENT ? " megatron=document" : "");
    if (config->max_document != BL_MAX_DOCUMENT)
        bl_buffer_printf(out, " max=%" PRId64, config->max_document);
    bl_buffer_text(out, config->invalid == BL_INVALID_ERROR ? " invalid=error" : "");
    bl_buffer_printf(out, "%s%s%s", config->add_special_tokens ? " add-special-tokens" : "", config->bos ? " bos" : "",
                     config->eos ? " eos" : "");
    /* The automatic choice adds nothing, since each file decides. */
    if (config->format != BL_TEXT_AUTO)
        bl_buffer_printf(out, " format=%s", format_choices[config->format]);
    if (config->fim.given) {
        bl_buffer_text(out, " fim=");
        bl_option_fim.format(NULL, &config->fim, out);
    }
    /* Tokens of the inputs may be those of --bos and --eos in these cases. Tables of versions that doubled such tokens
     * do not have the word "once", so the two do not mix. */
    if ((config->bos || config->eos) && (config->special || !p->tokenizer))
        bl_buffer_text(out, " once");
}
