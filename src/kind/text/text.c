/* The text kind: what its options mean for a scan, a manifest and a reader, and its place in the table of kinds.
 *
 * The callbacks here are short. The work is elsewhere: count.c makes rows and steps, read.c reads pieces, options.c
 * checks the options and prepares the tokenizer. Example of a row's columns with --tokenizer, --bos and --keep lang:
 * those of all kinds, then "lang", then the column that says whether the document had the token of --bos already. */
#include "kind/text/text.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kind/text/config.h"
#include "kind/text/item.h"
#include "kind/text/options.h"
#include "kind/text/spool.h"

/* The extensions of files that bload takes from a folder. Others (.json, .csv, no extension) are read when they are
 * named. */
static const char *const extensions[] = {
    "jsonl",   "jsonl.gz", "jsonl.zst", "ndjson",   "ndjson.gz", "ndjson.zst", "json.gz", "json.zst", "txt", "txt.gz",
    "txt.zst", "text",     "text.gz",   "text.zst", "md",        "md.gz",      "md.zst",  "idx",      "npy", NULL};

/* The same with --token-file. The files beside them, .idx of a .bin, are no inputs. */
static const char *const token_extensions[] = {"bin", "npy", "ds", NULL};
static const struct bl_kind_names token_names = {token_extensions, {".idx", ".bin"}};

/* The columns of flat files of ids, see bl_token_file_count. */
#define TOKEN_COLUMNS "\tunmarked\tempty\tundivided"
/* Code and markup, in folders that --kind says are text. Data formats such as JSON are not among them, nor are files
 * that tools make. */
static const char *const asked_extensions[] = {
    "adb",   "ads",      "adoc", "asm", "awk",  "bash", "bat",   "bib",    "c",      "cc",   "cfg",   "cjs",  "clj",
    "cmake", "conf",     "cpp",  "cs",  "css",  "cu",   "cuh",   "cxx",    "d",      "dart", "diff",  "el",   "erl",
    "ex",    "exs",      "f",    "f90", "f95",  "fs",   "go",    "gradle", "groovy", "h",    "hh",    "hpp",  "hs",
    "htm",   "html",     "hxx",  "ini", "java", "jl",   "js",    "jsx",    "kt",     "kts",  "less",  "lisp", "lua",
    "m",     "markdown", "mjs",  "mk",  "ml",   "mli",  "mm",    "nim",    "org",    "pas",  "patch", "php",  "pl",
    "pm",    "proto",    "ps1",  "py",  "pyi",  "pyx",  "r",     "rb",     "rmd",    "rs",   "rst",   "s",    "sass",
    "scala", "scm",      "scss", "sh",  "sol",  "sql",  "sv",    "svelte", "swift",  "tcl",  "tex",   "toml", "ts",
    "tsx",   "v",        "vb",   "vhd", "vhdl", "vue",  "xhtml", "xml",    "yaml",   "yml",  "zig",   "zsh",  NULL};

/* The types in which ids are stored: with u16 each id must be below 65,536, and a dataset has half the size. */
static const char *const dtypes[] = {"i32", "u16", NULL};

/* Bytes of input in a chunk, which is one call of a thread and one pair of files in the spool. Near the end of the
 * inputs chunks become smaller, so that all threads end at about the same time. */
#define CHUNK_BYTES ((int64_t)64 << 20)
#define CHUNK_BYTES_LEAST ((int64_t)1 << 20) /* counting them takes a hundred times as long as beginning a chunk */

/* Appends the lines that identify a dataset beside its options: another tokenizer file of the same name gives another
 * dataset. */
static void text_identify(const void *values, struct bl_buffer *out)
{
    const struct bl_text_config *config = values;
    if (config->prepared.tokenizer)
        bl_buffer_printf(out, "tokenizer: %016" PRIx64 "\n", bl_tokenizer_digest(config->prepared.tokenizer));
}

/* Appends the names of the extra columns in the order in which bl_item writes their values. */
static void text_columns(const void *values, bool lists, struct bl_buffer *out)
{
    (void)lists;
    const struct bl_text_config *config = values;
    const struct bl_text_prepared *p = &config->prepared;
    bl_buffer_text(out, config->token_file ? TOKEN_COLUMNS : "");
    bl_buffer_text(out, config->fim.given ? "\t" BL_FIM_COLUMN "\tfim.begin\tfim.end" : "");
    for (int k = 1; k <= p->keeps; k++)
        bl_buffer_printf(out, "\t%s", p->column[k].name);
    if (p->same_column)
        bl_buffer_printf(out, "\t%s", p->same_column);
    bl_buffer_text(out, p->trained ? "\t" BL_TRAINED : "");
    bl_buffer_text(out, config->bos ? "\t" BL_TEXT_HAD_BOS : "");
    bl_buffer_text(out, config->eos ? "\t" BL_TEXT_HAD_EOS : "");
    bl_buffer_text(out, p->leaves_specials ? "\t" BL_TEXT_SPECIALS : "");
}

/* Returns the name of number i among the columns that are numbers, or NULL. */
static const char *text_number(const void *values, int i)
{
    return bl_item_number_name(&((const struct bl_text_config *)values)->prepared, i);
}

/* Whether the spool has rows without steps, because the steps of flat files of ids stay in their files. */
static bool text_has_rows_alone(const void *config)
{
    return ((const struct bl_text_config *)config)->token_file;
}

/* Names of files that replace the extensions above, or NULL. */
static const struct bl_kind_names *text_names(const void *config)
{
    return ((const struct bl_text_config *)config)->token_file ? &token_names : NULL;
}

/* Sets the fields of a row: the same for all rows, as options alone decide them. */
static int text_fields(const void *values, const struct bl_kind_env *env, const struct bl_row *row,
                       struct bl_fields *out, struct bl_error *e)
{
    (void)env, (void)row, (void)e;
    *out = ((const struct bl_text_config *)values)->prepared.out;
    return BL_OK;
}

/* Adds a chunk to the index of the spool. One thread calls it, in the order of the inputs. */
static int text_keep(void *values, const struct bl_kind_env *env, const struct bl_chunk *chunk, struct bl_error *e)
{
    struct bl_text_config *config = values;
    return bl_spool_index_add(&config->prepared.spool_index, env->spool, chunk, e);
}

/* Removes the chunks of this dataset from the spool when packing is complete. Files of other datasets stay, and so does
 * the folder if it has some. */
static int text_clear(void *values, const struct bl_kind_env *env, struct bl_error *e)
{
    struct bl_spool_index *index = &((struct bl_text_config *)values)->prepared.spool_index;
    int code = BL_OK;
    if (index->files_open)
        bl_spool_files_close(index->files_open);
    for (size_t i = 0; i < index->keys && !code; i++)
        code = bl_spool_remove(env->spool, index->key[i], e);
    if (!code)
        code = bl_spool_sweep(env->spool, index->key, index->keys, e);
    rmdir(env->spool); /* if nothing else is in it */
    return code;
}

/* Appends ", begin 1 2" for marks 1 and 2, and nothing if there are none. */
static void marks_describe(const char *which, const struct bl_document_marks *marks, struct bl_buffer *out)
{
    bl_buffer_text(out, marks->count ? which : "");
    for (int i = 0; i < marks->count; i++)
        bl_buffer_printf(out, " %d", marks->id[i]);
}

/* Appends the description of the field for a reader of the manifest: where its ids come from, and which tokens are
 * added. */
static void text_describe(const void *values, const struct bl_field *field, struct bl_buffer *out)
{
    (void)field;
    const struct bl_text_config *config = values;
    const struct bl_text_prepared *p = &config->prepared;
    /* Without a tokenizer the inputs have ids, whose meaning only the user knows. */
    if (p->tokenizer)
        bl_buffer_printf(out, "tokens of %s (%" PRId64 " ids, digest %016" PRIx64 "), special tokens in text %s",
                         bl_tokenizer_name(p->tokenizer), bl_tokenizer_size(p->tokenizer),
                         bl_tokenizer_digest(p->tokenizer), config->special ? "parsed" : "plain");
    else
        bl_buffer_text(out, "token ids as they were given");
    marks_describe(", begin", &p->begin, out);
    marks_describe(", end", &p->end, out);
    bl_buffer_printf(out, ", padding %d", p->pad);
    if (!config->fim.given)
        return;
    bl_buffer_text(out, ", fill-in-the-middle ");
    bl_option_fim.format(NULL, &config->fim, out);
    bl_buffer_printf(out, " by prefix %d, middle %d, suffix %d", p->fim[BL_FIM_PREFIX], p->fim[BL_FIM_MIDDLE],
                     p->fim[BL_FIM_SUFFIX]);
}

/* Names the libraries on which ids depend: the tokenizer's. */
static int text_versions(const void *config, const struct bl_kind_env *env, bl_version_emit *emit, void *sink,
                         struct bl_error *e)
{
    (void)env, (void)e;
    const struct bl_text_prepared *p = &((const struct bl_text_config *)config)->prepared;
    if (p->tokenizer)
        bl_tokenizer_versions(p->tokenizer, emit, sink);
    return BL_OK;
}

/* The sums that a scan and a manifest have. A total with a value counts the rows that have this value in its column; a
 * total without one adds up the numbers of the column. */
static const struct bl_total totals[] = {
    {.column = BL_TEXT_HAD_BOS,
     .text = "sequences that begin with the token of --bos already, which is not added again"},
    {.column = BL_TEXT_HAD_EOS, .text = "sequences that end with the token of --eos already, which is not added again"},
    {.column = BL_TEXT_SPECIALS,
     .text = "special tokens in texts that stay plain text (--special parse makes tokens of them, but not of those of "
             "a .model)",
     .tells_rows = true},
    {.column = "unmarked", .text = "documents without the eos= that ends them, or the bos= that begins them"},
    {.column = "empty", .text = "empty documents of an index, left out"},
    {.column = "undivided", .text = "files that are one sequence each, as no index, eos= or bos= divides them"},
    {.column = BL_FIM_COLUMN, .text = "documents in the form PSM", .value = "psm", .name = "fim_psm"},
    {.column = BL_FIM_COLUMN, .text = "documents in the form SPM", .value = "spm", .name = "fim_spm"},
    {.column = BL_FIM_COLUMN, .text = "documents as they are", .value = "no", .name = "fim_no"},
    {.column = BL_FIM_COLUMN,
     .text = "documents as they are, since their text has tokens of --fim",
     .value = "marked",
     .name = "fim_marked"},
    {.column = BL_FIM_COLUMN ".begin",
     .text = "documents in the form PSM or SPM that are cut to pieces, or truncated",
     .value = "",
     .name = "fim_cut",
     .cut = true},
    {0},
};

static const struct bl_kind_scan text_scan = {
    .chunk_bytes = CHUNK_BYTES,
    .chunk_bytes_least = CHUNK_BYTES_LEAST,
    .sampling = bl_text_sampling,
    .columns = text_columns,
    .totals = totals,
    .number = text_number,
    .want = bl_text_keys_want,
    .take_key = bl_text_take_key,
    .is_streamed = bl_text_is_streamed,
    .is_divisible = bl_text_divisible,
    .open = bl_text_counter_open,
    .count = bl_text_count_chunk,
};

static const struct bl_kind_read text_read = {
    .memory = (int64_t)1 << 20, /* bytes for each reader: the window of the spool, and the table of open files */
    .fields = text_fields,
    .open = bl_text_open,
    .describe = text_describe,
    .versions = text_versions,
};

static const struct bl_kind_spool text_spool = {
    .add = text_keep,
    .has = bl_text_has_chunk,
    .remove = text_clear,
    .is_rows_alone = text_has_rows_alone,
};

/* Text reads standard input, and takes files for which no other kind has the extension (is_fallback). */
const struct bl_kind bl_kind_text = {
    .name = "text",
    .title = "Text",
    .steps = "tokens",
    .extensions = extensions,
    .asked_extensions = asked_extensions,
    .implied_by = "tokenizer",
    .reads_stdin = true,
    .is_fallback = true,
    .options = {.table = bl_text_options,
                .config_size = sizeof(struct bl_text_config),
                .dtypes = dtypes,
                .check = bl_text_check,
                .prepare = bl_text_prepare,
                .release = bl_text_release,
                .identify = text_identify,
                .names = text_names},
    .scan = &text_scan,
    .read = &text_read,
    .spool = &text_spool,
};
