#include "scan/subset_options.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>
#include <xxhash.h>

#include "base/text.h"
#include "scan/condition.h"

#define MILLIONTHS 1000000
#define DIGITS 6

/* Parses a percentage above 0, up to 100, with at most six digits after the point. */
static bool share_parse(const char *text, size_t size, int64_t *share)
{
    int64_t whole, part = 0;
    size_t digits = strspn(text, "0123456789");
    if (!digits || size < 2 || digits >= size || text[size - 1] != '%' || !bl_text_to_int(text, digits, 0, 100, &whole))
        return false;
    if (text[digits] == '.') {
        const char *after = text + digits + 1;
        size_t places = size - 2 - digits;
        if (!places || places > DIGITS || strspn(after, "0123456789") != places ||
            !bl_text_to_int(after, places, 0, MILLIONTHS - 1, &part))
            return false;
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
    for (; part && part % 10 == 0; part /= 10)
        places--;
    if (part)
        bl_buffer_printf(out, ".%0*" PRId64, places, part);
    bl_buffer_byte(out, '%');
}

static bool share_option_parse(const struct bl_option *option, const char *text, void *value)
{
    (void)option;
    return share_parse(text, strlen(text), value);
}

static void share_option_format(const struct bl_option *option, const void *value, struct bl_buffer *out)
{
    (void)option;
    if (*(const int64_t *)value)
        bl_share_format(*(const int64_t *)value, out);
}

/* "train=95%", which ends at end; its name must be new. */
static bool split_add(struct bl_split *split, const char *text, size_t size)
{
    const char *equals = memchr(text, '=', size);
    size_t name = equals ? (size_t)(equals - text) : 0;
    if (!name || split->parts == BL_SPLIT_PARTS_MAX)
        return false;
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
    return share_parse(equals + 1, size - name - 1, &split->part[split->parts++].share);
}

static bool split_parse(const struct bl_option *option, const char *text, void *value)
{
    struct bl_split *split = value;
    int64_t sum = 0;
    (void)option;
    *split = (struct bl_split){0};
    for (;;) {
        size_t size = strcspn(text, ",");
        if (!split_add(split, text, size))
            return false;
        sum += split->part[split->parts - 1].share;
        if (!text[size])
            return sum == BL_SHARE_ALL;
        text += size + 1;
    }
}

static void split_format(const struct bl_option *option, const void *value, struct bl_buffer *out)
{
    const struct bl_split *split = value;
    (void)option;
    for (int k = 0; k < split->parts; k++) {
        bl_buffer_printf(out, "%s%.*s=", k ? "," : "", (int)split->part[k].size, split->part[k].name);
        bl_share_format(split->part[k].share, out);
    }
}

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
                    "only sequences that this finished dataset does not store already, by id and content; may be given "
                    "again: none of them does",
                    .placeholder = "DIR", .unlisted = true),
    BL_OPTION_TEXTS("where", struct bl_subset_options, where, BL_AFFECTS_LENGTHS,
                    "only sequences whose column of the table fulfils this: COLUMN OP VALUE, with = != < <= > >= or ~ "
                    "(a glob), such as \"length >= 30\"; may be given again: all must hold",
                    .placeholder = "CONDITION"),
    BL_OPTION_INT("min-trained", struct bl_subset_options, min_trained, BL_AFFECTS_LENGTHS,
                  "only sequences with so many trained tokens at least, by a field loss_mask or labels",
                  .unlisted = true),
    BL_OPTION_FLAG("dedup", struct bl_subset_options, dedup, BL_AFFECTS_LENGTHS,
                   "of sequences with the same content only the first"),
    BL_OPTION_CUSTOM(
        "dedup-by", &same_text_type, struct bl_same_text, struct bl_subset_options, dedup_by, BL_AFFECTS_LENGTHS,
        "of sequences with the same text in this key of JSON, or column, only the first; compared in NFKC, "
        "in lower case, or with runs of white space as one space",
        .unlisted = true),
    BL_OPTION_CUSTOM("split", &split_type, struct bl_split, struct bl_subset_options, split, BL_AFFECTS_LENGTHS,
                     "divide the sequences into parts by a hash of the id; their names are the column split"),
    BL_OPTION_STRING("split-by", struct bl_subset_options, split_by, BL_AFFECTS_LENGTHS,
                     "hash this column instead, so that sequences with the same value are in the same part",
                     .placeholder = "COLUMN"),
    BL_OPTION_STRING("take", struct bl_subset_options, take, BL_AFFECTS_LENGTHS,
                     "only this part, of --split or of the column split that the table has", .placeholder = "NAME"),
    BL_OPTION_CUSTOM("share", &share_type, int64_t, struct bl_subset_options, share, BL_AFFECTS_LENGTHS,
                     "only about this part of the sequences, by a hash of the id: a smaller share is within a larger "
                     "one"),
    BL_OPTION_INT("first", struct bl_subset_options, first, BL_AFFECTS_LENGTHS,
                  "only so many sequences, the first of what the options above leave", .min = 1),
    {0},
};

bool bl_subset_is_given(const struct bl_subset_options *o)
{
    return o->extend.count || o->where.count || o->min_trained || o->dedup || o->dedup_by.key || o->split.parts ||
           o->take || o->share || o->first;
}

static bool split_has(const struct bl_split *split, const char *name)
{
    bool found = false;
    for (int k = 0; k < split->parts; k++)
        found |= strlen(name) == split->part[k].size && memcmp(name, split->part[k].name, split->part[k].size) == 0;
    return found;
}

int bl_subset_check(const struct bl_subset_options *o, struct bl_error *e)
{
    struct bl_buffer split = {0};
    if (o->split_by && !o->split.parts)
        return bl_error_set(e, BL_EUSAGE, "--split-by needs --split");
    split_format(NULL, &o->split, &split);
    int code = o->split.parts ? bl_buffer_check(&split, e) : BL_OK;
    if (!code && o->take && o->split.parts && !split_has(&o->split, o->take))
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
    uint64_t hash = XXH3_64bits_withSeed(value, strlen(value), SEED_SPLIT);
    int64_t share = 0;
    int part = 0;
    for (; part + 1 < split->parts; part++) {
        share += split->part[part].share;
        if (bl_share_has(share, hash))
            break;
    }
    return part;
}
