/* Parses and applies what selects sequences: conditions on columns, lists of excluded ids, shares and splits by hashes.
 *
 * A share of 10 % takes the sequences whose hash of the id is in the lowest tenth of all hashes. So the choice does not
 * depend on the other sequences, and the sequences of a smaller share are among those of a larger one. */
#include "scan/selection.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <math.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/buffer.h"
#include "base/checksum.h"
#include "base/fs.h"
#include "base/io.h"
#include "base/text.h"
#include "kind/env.h"
#include "store/row_reader.h"

/* --- conditions --------------------------------------------------------------------------------------------------- */

/* Longer operators stand before their prefixes, as the first match counts: "<=" before "<". */
static const struct {
    const char *text;
    enum bl_comparison comparison;
} comparisons[] = {{"!=", BL_COMPARE_UNEQUAL}, {"<=", BL_COMPARE_AT_MOST}, {">=", BL_COMPARE_AT_LEAST},
                   {"=", BL_COMPARE_EQUAL},    {"<", BL_COMPARE_LESS},     {">", BL_COMPARE_GREATER},
                   {"~", BL_COMPARE_GLOB}};

/* Parses a decimal number, such as "30", "-1.5" or "1e3". Hexadecimal numbers, "inf" and "nan" are no numbers: a
 * column with such texts is compared as text. */
static struct bl_decimal decimal_parse(const char *text)
{
    struct bl_decimal number = {0};
    char *end = NULL;
    /* strtod(3) also takes "0x1p3", "inf" and "nan", so only these characters may occur. */
    if (!*text || text[strspn(text, "0123456789+-.eE")])
        return number;
    number.value = strtod(text, &end); /* the process is in the C locale */
    number.is_number = !*end && isfinite(number.value);
    /* Whole numbers up to 2^63 compare exactly; a double has 53 bits. */
    number.is_whole = bl_text_to_int(text, strlen(text), INT64_MIN, INT64_MAX, &number.whole);
    return number;
}

/* Removes blanks at both ends, in place. */
static char *condition_trim(char *text)
{
    const char *begin = text;
    size_t size = strlen(text);
    bl_text_trim(&begin, &size, " \t");
    text += begin - text;
    text[size] = '\0';
    return text;
}

/* Parses COLUMN OP VALUE into parts of c->text, which c owns, also after errors. BL_EUSAGE: the text is no
 * condition. */
int bl_condition_parse(struct bl_condition *c, const char *text, struct bl_error *e)
{
    *c = (struct bl_condition){.text = strdup(text)};
    if (!c->text)
        return bl_error_memory(e);
    size_t size = 0;
    /* The first operator counts, so that a value may contain further ones: "title = a<b" compares with "a<b". */
    char *at = NULL; /* the first operator */
    for (char *next = c->text; *next && !at; next++) {
        for (size_t i = 0; i < sizeof comparisons / sizeof *comparisons && !at; i++) {
            size = strlen(comparisons[i].text);
            c->comparison = comparisons[i].comparison;
            at = strncmp(next, comparisons[i].text, size) == 0 ? next : NULL;
        }
    }
    /* After "=", another operator would be a typing error such as "==" or "=>", not a value. */
    bool good = at && !strchr(text, '\n') && (!at[size] || !strchr("=<>~", at[size])); /* "==" is none */
    if (good) {
        c->value = condition_trim(at + size);
        *at = '\0';
        c->column = condition_trim(c->text);
        good = *c->column;
    }
    if (!good)
        return bl_error_set(e, BL_EUSAGE,
                            "--where expects COLUMN OP VALUE, OP one of = != < <= > >= and ~ (a glob), such as "
                            "\"length >= 30\", not \"%s\"",
                            text);
    c->number = decimal_parse(c->value);
    /* The four operators are neighbours in the enumeration. */
    bool needs_number = c->comparison >= BL_COMPARE_LESS && c->comparison <= BL_COMPARE_AT_LEAST;
    /* "<" on texts would order "9" behind "10". */
    if (needs_number && !c->number.is_number)
        return bl_error_set(e, BL_EUSAGE, "--where \"%s\": < <= > >= compare numbers, and \"%s\" is none", text,
                            c->value);
    return BL_OK;
}

void bl_condition_free(struct bl_condition *c)
{
    free(c->text);
    c->text = NULL;
}

/* Equality compares numbers where both sides are numbers, so that "30" equals "30.0", and texts otherwise.
 * *no_number: an order was requested and the value is no number, which does not fulfil the condition. */
bool bl_condition_holds(const struct bl_condition *c, const char *value, bool *no_number)
{
    *no_number = false;
    /* fnmatch(3) without flags: "*" matches slashes, too, as in "path ~ *cats*". */
    if (c->comparison == BL_COMPARE_GLOB)
        return fnmatch(c->value, value, 0) == 0;
    const struct bl_decimal number = decimal_parse(value);
    bool numbers = number.is_number && c->number.is_number;
    /* order is below, equal to or above 0, as of strcmp(3). */
    int order;
    if (!numbers)
        order = strcmp(value, c->value);
    else if (number.is_whole && c->number.is_whole) /* exact, also above 2^53 */
        order = (number.whole > c->number.whole) - (number.whole < c->number.whole);
    else
        order = (number.value > c->number.value) - (number.value < c->number.value);
    if (c->comparison == BL_COMPARE_EQUAL)
        return order == 0;
    if (c->comparison == BL_COMPARE_UNEQUAL)
        return order != 0;
    *no_number = !numbers;
    if (!numbers)
        return false;
    switch (c->comparison) {
    case BL_COMPARE_LESS:
        return order < 0;
    case BL_COMPARE_AT_MOST:
        return order <= 0;
    case BL_COMPARE_GREATER:
        return order > 0;
    default:
        return order >= 0;
    }
}

/* --- exclusion ---------------------------------------------------------------------------------------------------- */

/* An id of --exclude. Workers look ids up in parallel and only ever set `used`, so that a relaxed atomic suffices. */
struct excluded {
    const char *id;
    char *plain; /* without the escapes that a table has; NULL: it has none */
    atomic_bool used;
};

/* The exclusion owns the text; ids point into it, so that it must not grow after exclusion_sort. */
struct bl_exclusion {
    struct bl_buffer text; /* the ids, each with a NUL after it */
    struct excluded *row;  /* [count] by id */
    size_t count;
    struct bl_hash hash; /* of the rows, by both */
};

/* Orders ids byte by byte, so that the identity of the dataset does not depend on the order of the arguments. */
static int exclusion_compare(const void *a, const void *b)
{
    return strcmp(((const struct excluded *)a)->id, ((const struct excluded *)b)->id);
}

/* Adds row i to the hash table under this id. */
static int exclusion_hash(struct bl_exclusion *x, size_t i, const char *id, struct bl_error *e)
{
    return bl_hash_add(&x->hash, XXH3_64bits(id, strlen(id)), i, e);
}

/* Adds a row to the hash table under its id and, if the id has escapes, under the text without them: users copy ids
 * from sequences.tsv, where a tab is "\t". An invalid escape is no escape. */
static int exclusion_index(struct bl_exclusion *x, size_t i, struct bl_error *e)
{
    struct excluded *row = &x->row[i];
    int code = exclusion_hash(x, i, row->id, e);
    if (code || !strchr(row->id, '\\'))
        return code;
    char *plain = strdup(row->id);
    if (!plain)
        return bl_error_memory(e);
    /* A copy is unescaped in place. Its size shrinks or stays. */
    int64_t size = bl_text_unescape(plain, strlen(plain));
    if (size < 0) {
        free(plain);
        return BL_OK;
    }
    plain[size] = '\0';
    row->plain = plain;
    return exclusion_hash(x, i, plain, e);
}

/* Makes the rows of the ids in the text, in order, and each id once. */
static int exclusion_sort(struct bl_exclusion *x, struct bl_error *e)
{
    size_t all = 0, kept = 0;
    for (size_t at = 0; at < x->text.size; at += strlen(x->text.data + at) + 1)
        all++;
    /* One more than needed, as calloc(3) of 0 bytes may return NULL. */
    x->row = calloc(all + 1, sizeof *x->row);
    if (!x->row)
        return bl_error_memory(e);
    for (size_t at = 0; at < x->text.size; at += strlen(x->text.data + at) + 1)
        x->row[x->count++].id = x->text.data + at;
    qsort(x->row, x->count, sizeof *x->row, exclusion_compare);
    for (size_t i = 0; i < x->count; i++) {
        /* Equal ids are neighbours now: only the first of them stays. */
        if (!kept || strcmp(x->row[kept - 1].id, x->row[i].id) != 0)
            x->row[kept++].id = x->row[i].id;
    }
    x->count = kept;
    int code = bl_hash_reserve(&x->hash, kept, e);
    for (size_t i = 0; i < kept && !code; i++)
        code = exclusion_index(x, i, e);
    return code;
}

/* Reads ids from the arguments, and from files for arguments "@FILE", whose paths are relative to base. */
int bl_exclusion_open(struct bl_exclusion **exclusion, const char *const *arguments, int count, const char *base,
                      struct bl_error *e)
{
    struct bl_exclusion *x = calloc(1, sizeof *x);
    int code = BL_OK;
    if (!x)
        return bl_error_memory(e);
    for (int i = 0; i < count && !code; i++) {
        /* "@FILE" is a list of ids, one in each line. */
        if (arguments[i][0] == '@') {
            char *path = bl_path_join(base, arguments[i] + 1);
            code = path ? bl_lines_append_list(path, &x->text, e) : bl_error_memory(e);
            free(path);
        } else {
            bl_buffer_append(&x->text, arguments[i], strlen(arguments[i]) + 1);
        }
    }
    if (!code)
        code = bl_buffer_check(&x->text, e);
    if (!code)
        code = exclusion_sort(x, e);
    if (code)
        bl_exclusion_close(x);
    else
        *exclusion = x;
    return code;
}

void bl_exclusion_close(struct bl_exclusion *x)
{
    if (!x)
        return;
    bl_buffer_free(&x->text);
    bl_hash_free(&x->hash);
    for (size_t i = 0; x->row && i < x->count; i++)
        free(x->row[i].plain);
    /* The texts of the rows lie in x->text, except the unescaped ones. */
    free(x->row);
    free(x);
}

/* Marks the rows of this id as used, and returns whether there are any. An id may have two rows: one as it stands,
 * one with escapes. */
static bool exclusion_find(struct bl_exclusion *x, const char *id)
{
    bool is_found = false;
    size_t i;
    /* The hash only proposes rows; the comparison of the text decides. */
    for (struct bl_hash_probe probe = bl_hash_begin(&x->hash, XXH3_64bits(id, strlen(id)));
         bl_hash_next(&x->hash, &probe, &i);) {
        struct excluded *row = &x->row[i];
        if (strcmp(row->id, id) != 0 && (!row->plain || strcmp(row->plain, id) != 0))
            continue;
        atomic_store_explicit(&row->used, true, memory_order_relaxed);
        is_found = true;
    }
    return is_found;
}

/* Both are looked up in any case, so that both count as used. file: the id of the file that holds the sequence,
 * which excludes all its documents; or NULL. */
bool bl_exclusion_has(struct bl_exclusion *x, const char *id, const char *file)
{
    /* Both calls must run: an early end would leave the id of the file unused. */
    bool own = exclusion_find(x, id);
    return (file && exclusion_find(x, file)) || own;
}

void bl_exclusion_apply(struct bl_row *row)
{
    /* A dropped row keeps its id and path, so that a later run with other ids finds the input again. */
    row->status = BL_ROW_DROPPED;
    row->length = 0;
    row->reason = "left out by --exclude";
    row->form = NULL;
}

/* A document has the id "FILE#OFFSET": the file is the part before the last "#". */
bool bl_exclusion_has_row(struct bl_exclusion *x, const struct bl_row *row, struct bl_buffer *file)
{
    bl_buffer_clear(file);
    if (bl_row_offset(row) >= 0)
        bl_buffer_append(file, row->id, (size_t)(strrchr(row->id, '#') - row->id));
    return bl_exclusion_has(x, row->id, file->size ? file->data : NULL);
}

/* Marks the ids of rows that the table has as excluded already, so that a resumed run does not report them as
 * unused. The walk ends with the last excluded row. */
int bl_exclusion_match(const struct bl_sequences *table, struct bl_exclusion *x, struct bl_error *e)
{
    struct bl_row_reader text = {0};
    struct bl_buffer file = {0};
    int code = BL_OK;
    int64_t left = table->excluded;
    for (size_t i = 0; i < table->count && left && !code; i++) {
        /* A row with a length is in use, so it was not excluded. */
        if (table->length[i])
            continue;
        code = bl_row_reader_read(table, i, &text, e);
        if (code || text.row.status != BL_ROW_DROPPED)
            continue;
        (void)bl_exclusion_has_row(x, &text.row, &file);
        left--;
    }
    bl_row_reader_free(&text);
    bl_buffer_free(&file);
    return code;
}

/* The digest covers the sorted ids, so that a resumed run with other ids is refused. */
void bl_exclusion_identify(const struct bl_exclusion *x, struct bl_buffer *out)
{
    char digest[BL_DIGEST_SIZE];
    struct bl_checksum_state state;
    bl_checksum_begin(&state);
    /* The NUL is a part of the digest: "a", "b" and "ab" differ. */
    for (size_t i = 0; i < x->count; i++)
        bl_checksum_add(&state, x->row[i].id, strlen(x->row[i].id) + 1);
    bl_checksum_format(bl_checksum_end(&state), digest);
    bl_buffer_printf(out, "exclude: %zu (%s)\n", x->count, digest);
}

void bl_exclusion_append_unused(const struct bl_exclusion *x, struct bl_buffer *out)
{
    char a[BL_PLURAL_SIZE];
    size_t unused = 0;
    for (size_t i = 0; i < x->count; i++) {
        /* Only the first unused id is named. */
        if (!atomic_load_explicit(&x->row[i].used, memory_order_relaxed) && !unused++)
            bl_buffer_printf(out, "--exclude %s: no sequence has that id", x->row[i].id);
    }
    if (unused > 1)
        bl_buffer_printf(out, ", nor %s", bl_text_plural(a, (int64_t)unused - 1, "other"));
}

/* --- options of subsets ------------------------------------------------------------------------------------------- */

/* A share is a whole number of millionths of a percent: 10.5 % is 10500000. Numbers in floating point would let
 * processors disagree about a limit. */
#define MILLIONTHS 1000000
#define DIGITS 6

/* Parses a percentage above 0 and up to 100, with at most six digits after the point, such as "0.5%". */
static bool selection_parse_share(const char *text, size_t size, int64_t *share)
{
    int64_t whole, part = 0;
    size_t digits = strspn(text, "0123456789");
    /* The text has at least a digit and "%", and all digits stand in front. */
    if (!digits || size < 2 || digits >= size || text[size - 1] != '%' || !bl_text_to_int(text, digits, 0, 100, &whole))
        return false;
    if (text[digits] == '.') {
        const char *after = text + digits + 1;
        size_t places = size - 2 - digits;
        if (!places || places > DIGITS || strspn(after, "0123456789") != places ||
            !bl_text_to_int(after, places, 0, MILLIONTHS - 1, &part))
            return false;
        /* The digits count as if all six were given: ".5" is 500000 millionths. */
        for (size_t i = places; i < DIGITS; i++)
            part *= 10;
    } else if (digits + 1 != size) {
        return false;
    }
    *share = whole * MILLIONTHS + part;
    return *share > 0 && *share <= BL_SHARE_ALL;
}

void bl_share_format(int64_t share, struct bl_buffer *out)
{
    int64_t part = share % MILLIONTHS;
    int places = DIGITS;
    bl_buffer_int(out, share / MILLIONTHS);
    /* Zeros at the end are left out: 10500000 is "10.5%". */
    for (; part && part % 10 == 0; part /= 10)
        places--;
    if (part)
        bl_buffer_printf(out, ".%0*" PRId64, places, part);
    bl_buffer_byte(out, '%');
}

/* Callbacks of the type of option "P%"; 0 is a share that is not given, which has no text. */
static bool share_option_parse(const struct bl_option *option, const char *text, void *value)
{
    (void)option;
    return selection_parse_share(text, strlen(text), value);
}

static void share_option_format(const struct bl_option *option, const void *value, struct bl_buffer *out)
{
    (void)option;
    if (*(const int64_t *)value)
        bl_share_format(*(const int64_t *)value, out);
}

/* Adds a part such as "train=95%". Returns false if its name is empty, occurs twice, or has bytes that a table would
 * escape, or if there are too many parts. The name stays a part of the text of the option. */
static bool split_add(struct bl_split *split, const char *text, size_t size)
{
    const char *equals = memchr(text, '=', size);
    size_t name = equals ? (size_t)(equals - text) : 0;
    if (!name || split->parts == BL_SPLIT_PARTS_MAX)
        return false;
    /* Names stand in sequences.tsv and in paths of parts, so blanks, control characters and backslashes are refused. */
    for (size_t i = 0; i < name; i++) {
        if ((unsigned char)text[i] <= ' ' || text[i] == '\\')
            return false;
    }
    for (int k = 0; k < split->parts; k++) {
        if (split->part[k].size == name && memcmp(split->part[k].name, text, name) == 0)
            return false;
    }
    split->part[split->parts].name = text;
    split->part[split->parts].size = name;
    return selection_parse_share(equals + 1, size - name - 1, &split->part[split->parts++].share);
}

/* Parses "train=95%,val=5%". Returns false if a part is invalid or the shares do not add up to 100 %. */
static bool split_parse(const struct bl_option *option, const char *text, void *value)
{
    struct bl_split *split = value;
    int64_t sum = 0;
    (void)option;
    *split = (struct bl_split){0};
    for (;;) {
        size_t size = strcspn(text, ",");
        /* Each part stops at the next comma; after the last one the sum decides. */
        if (!split_add(split, text, size))
            return false;
        sum += split->part[split->parts - 1].share;
        if (!text[size])
            return sum == BL_SHARE_ALL;
        text += size + 1;
    }
}

/* Appends the split in the format that split_parse reads. */
static void split_format(const struct bl_option *option, const void *value, struct bl_buffer *out)
{
    const struct bl_split *split = value;
    (void)option;
    for (int k = 0; k < split->parts; k++) {
        bl_buffer_printf(out, "%s%.*s=", k ? "," : "", (int)split->part[k].size, split->part[k].name);
        bl_share_format(split->part[k].share, out);
    }
}

/* Callbacks of the type of option of --dedup-by. */
static bool same_text_parse(const struct bl_option *option, const char *text, void *value)
{
    (void)option;
    return bl_same_text_parse(value, text);
}

static void same_text_format(const struct bl_option *option, const void *value, struct bl_buffer *out)
{
    (void)option;
    if (((const struct bl_same_text *)value)->key)
        bl_same_text_format(value, out);
}

/* The types of option: a placeholder for --help, the two callbacks, and the text for messages about wrong values. */
static const struct bl_option_type same_text_type = {
    "KEY[:nfkc,lower,space]", same_text_parse, same_text_format,
    "a key or column, and after a colon some of nfkc, lower and space (a key with colons ends with one more)"};
static const struct bl_option_type share_type = {"P%", share_option_parse, share_option_format,
                                                 "a percentage above 0%, up to 100%, such as 10% or 0.5%"};
static const struct bl_option_type split_type = {
    "NAME=P%,...", split_parse, split_format,
    "names and percentages that are 100% together, such as train=95%,val=5%, at most 16"};

const struct bl_option bl_subset_option_table[] = {
    BL_OPTION_TEXTS("extend", struct bl_subset_options, extend, BL_AFFECTS_LENGTHS,
                    "only sequences that this finished dataset does not store, by id and content; may be given again: "
                    "no dataset stores them",
                    .placeholder = "DIR", .unlisted = true),
    BL_OPTION_TEXTS("where", struct bl_subset_options, where, BL_AFFECTS_LENGTHS,
                    "only sequences whose column of the table fulfils this: COLUMN OP VALUE, with = != < <= > >= or ~ "
                    "(a glob), such as \"length >= 30\"; may be given again: all must hold",
                    .placeholder = "CONDITION"),
    BL_OPTION_INT("min-trained", struct bl_subset_options, min_trained, BL_AFFECTS_LENGTHS,
                  "only sequences with at least N trained tokens, by a field loss_mask or labels", .unlisted = true),
    BL_OPTION_FLAG("dedup", struct bl_subset_options, dedup, BL_AFFECTS_LENGTHS,
                   "keep only the first of the sequences with the same content"),
    BL_OPTION_CUSTOM(
        "dedup-by", &same_text_type, struct bl_same_text, struct bl_subset_options, dedup_by, BL_AFFECTS_LENGTHS,
        "keep only the first of the sequences with the same text in this key of JSON, or column; compared in "
        "NFKC, in lower case, or with runs of white space as one space",
        .unlisted = true),
    BL_OPTION_CUSTOM("split", &split_type, struct bl_split, struct bl_subset_options, split, BL_AFFECTS_LENGTHS,
                     "divide the sequences into parts by a hash of the id; their names are the column split"),
    BL_OPTION_STRING("split-by", struct bl_subset_options, split_by, BL_AFFECTS_LENGTHS,
                     "hash this column instead, so that sequences with the same value are in the same part",
                     .placeholder = "COLUMN"),
    BL_OPTION_STRING("take", struct bl_subset_options, take, BL_AFFECTS_LENGTHS,
                     "only this part of --split, or of the column split of the table", .placeholder = "NAME"),
    BL_OPTION_CUSTOM(
        "share", &share_type, int64_t, struct bl_subset_options, share, BL_AFFECTS_LENGTHS,
        "only about this part of the sequences, by a hash of the id: a smaller share is a subset of a larger one"),
    BL_OPTION_INT("first", struct bl_subset_options, first, BL_AFFECTS_LENGTHS,
                  "only the first N sequences, after the options above", .min = 1),
    {0},
};

bool bl_subset_is_given(const struct bl_subset_options *o)
{
    return o->extend.count || o->where.count || o->min_trained || o->dedup || o->dedup_by.key || o->split.parts ||
           o->take || o->share || o->first;
}

/* Checks options that contradict each other before any input is read. Conditions on columns are parsed, and checked
 * against the table later. */
int bl_subset_check(const struct bl_subset_options *o, struct bl_error *e)
{
    struct bl_buffer split = {0};
    if (o->split_by && !o->split.parts)
        return bl_error_set(e, BL_EUSAGE, "--split-by needs --split");
    split_format(NULL, &o->split, &split);
    int code = o->split.parts ? bl_buffer_check(&split, e) : BL_OK;
    bool has_part = false;
    for (int k = 0; k < o->split.parts && o->take; k++)
        has_part |= strlen(o->take) == o->split.part[k].size &&
                    memcmp(o->take, o->split.part[k].name, o->split.part[k].size) == 0;
    if (!code && o->take && o->split.parts && !has_part)
        code = bl_error_set(e, BL_EUSAGE, "--take %s: --split %s has no such part", o->take, split.data);
    for (int i = 0; i < o->where.count && !code; i++) {
        struct bl_condition condition;
        code = bl_condition_parse(&condition, o->where.text[i], e);
        bl_condition_free(&condition);
    }
    bl_buffer_free(&split);
    return code;
}

/* Streams of hashes: different seeds. */
enum { SEED_SHARE, SEED_SPLIT };

bool bl_share_takes(int64_t share, const char *value)
{
    return bl_share_has(share, XXH3_64bits_withSeed(value, strlen(value), SEED_SHARE));
}

int bl_split_part(const struct bl_split *split, const char *value)
{
    /* The seeds of --share and --split differ: a share of 10 % must not be the first tenth of the part "train". */
    uint64_t hash = XXH3_64bits_withSeed(value, strlen(value), SEED_SPLIT);
    int64_t share = 0;
    int part = 0;
    /* The last part takes all remaining hashes: its upper limit is that of all. */
    for (; part + 1 < split->parts; part++) {
        share += split->part[part].share;
        if (bl_share_has(share, hash))
            break;
    }
    return part;
}
