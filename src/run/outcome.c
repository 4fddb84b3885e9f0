#include "run/outcome.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/text.h"

#define REASON_MAX 400
#define UNFILTERED "unfiltered"
#define UNTRAINED "untrained" /* pieces, blocks, and the blocks that were looked at */

int bl_outcomes_add(struct bl_outcomes *o, int64_t row, bool failed, int64_t steps, const char *text,
                    struct bl_error *e)
{
    if (BL_ARRAY_RESERVE(o->outcome, o->capacity, o->count + 1, e))
        return BL_EFAIL;
    char *copy = strdup(text);
    if (!copy)
        return bl_error_memory(e);
    o->outcome[o->count++] = (struct bl_outcome){row, failed, steps, copy};
    return BL_OK;
}

void bl_outcomes_free(struct bl_outcomes *o)
{
    for (size_t i = 0; i < o->count; i++)
        free(o->outcome[i].text);
    free(o->outcome);
    *o = (struct bl_outcomes){0};
}

void bl_outcomes_add_untrained(struct bl_outcomes *o, const struct bl_untrained *untrained)
{
    o->untrained.pieces += untrained->pieces;
    o->untrained.blocks += untrained->blocks;
    o->untrained.counted += untrained->counted;
}

void bl_outcomes_format(const struct bl_outcomes *o, struct bl_buffer *out)
{
    if (o->unfiltered)
        bl_buffer_text(out, UNFILTERED "\n");
    if (o->untrained.counted)
        bl_buffer_printf(out, UNTRAINED "\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\n", o->untrained.pieces,
                         o->untrained.blocks, o->untrained.counted);
    for (size_t i = 0; i < o->count; i++) {
        const struct bl_outcome *one = &o->outcome[i];
        bl_buffer_text(out, one->failed ? "failed\t" : "noted\t");
        bl_buffer_int(out, one->row);
        bl_buffer_byte(out, '\t');
        bl_buffer_int(out, one->steps);
        bl_buffer_byte(out, '\t');
        bl_text_escape(out, one->text, strlen(one->text));
        bl_buffer_byte(out, '\n');
    }
}

static bool untrained_parse(struct bl_outcomes *o, const char *const text[3])
{
    struct bl_untrained u = {0};
    int64_t *number[] = {&u.pieces, &u.blocks, &u.counted};
    bool valid = true;
    for (int i = 0; i < 3; i++)
        valid = valid && text[i] && bl_text_to_int(text[i], strlen(text[i]), 0, INT64_MAX / 4, number[i]);
    if (valid)
        bl_outcomes_add_untrained(o, &u);
    return valid;
}

static int outcome_parse_line(struct bl_outcomes *o, char *line, struct bl_error *e)
{
    if (strcmp(line, UNFILTERED) == 0) {
        o->unfiltered = true;
        return BL_OK;
    }
    char *at = line;
    const char *word = strsep(&at, "\t"), *row_text = strsep(&at, "\t"), *steps_text = strsep(&at, "\t");
    char *text = strsep(&at, "\t");
    if (strcmp(word, UNTRAINED) == 0 && !at && untrained_parse(o, (const char *const[]){row_text, steps_text, text}))
        return BL_OK;
    int64_t row, steps, size = text ? bl_text_unescape(text, strlen(text)) : -1;
    bool failed = strcmp(word, "failed") == 0;
    if (size < 0 || at || (!failed && strcmp(word, "noted") != 0) ||
        !bl_text_to_int(row_text, strlen(row_text), 0, INT64_MAX, &row) ||
        !bl_text_to_int(steps_text, strlen(steps_text), 0, INT64_MAX, &steps))
        return bl_error_set(e, BL_EDATA, "the record of a shard has an invalid line");
    text[size] = '\0';
    return bl_outcomes_add(o, row, failed, steps, text, e);
}

int bl_outcomes_parse(struct bl_outcomes *o, char *text, size_t size, struct bl_error *e)
{
    for (size_t at = 0; at < size;) {
        char *newline = memchr(text + at, '\n', size - at);
        if (!newline)
            return bl_error_set(e, BL_EDATA, "the record of a shard ends in the middle of a line");
        *newline = '\0';
        int code = outcome_parse_line(o, text + at, e);
        if (code)
            return code;
        at = (size_t)(newline - text) + 1;
    }
    return BL_OK;
}

/* Sorts by row. qsort is not stable, so the index breaks ties and keeps the order of arrival. */
struct ordered {
    struct bl_outcome outcome;
    size_t arrival;
};

static int outcome_compare(const void *a_, const void *b_)
{
    const struct ordered *a = a_, *b = b_;
    if (a->outcome.row != b->outcome.row)
        return a->outcome.row < b->outcome.row ? -1 : 1;
    return a->arrival < b->arrival ? -1 : 1;
}

/* Merges the second outcome of a row into the first. The failure of one piece outweighs the note of another. */
static int outcome_join(struct bl_outcome *into, struct bl_outcome *from, struct bl_error *e)
{
    bool same = strcmp(into->text, from->text) == 0;
    if (from->failed && !into->failed) {
        char *text = into->text;
        into->text = from->text;
        from->text = text;
    } else if (from->failed == into->failed && !same && strlen(into->text) + strlen(from->text) < REASON_MAX) {
        struct bl_buffer text = {0};
        bl_buffer_printf(&text, "%s; %s", into->text, from->text);
        if (bl_buffer_check(&text, e)) {
            bl_buffer_free(&text);
            return BL_EFAIL;
        }
        free(into->text);
        into->text = text.data;
    }
    into->failed |= from->failed;
    into->steps += from->steps;
    return BL_OK;
}

int bl_outcomes_merge(struct bl_outcomes *o, struct bl_error *e)
{
    if (!o->count)
        return BL_OK;
    struct ordered *order = malloc(o->count * sizeof *order);
    if (!order)
        return bl_error_memory(e);
    for (size_t i = 0; i < o->count; i++)
        order[i] = (struct ordered){o->outcome[i], i};
    qsort(order, o->count, sizeof *order, outcome_compare);
    int code = BL_OK;
    size_t kept = 0, total = o->count;
    for (size_t i = 0; i < total; i++) {
        struct bl_outcome *last = kept ? &o->outcome[kept - 1] : NULL;
        if (!last || last->row != order[i].outcome.row) {
            o->outcome[kept++] = order[i].outcome;
            continue;
        }
        if (!code)
            code = outcome_join(last, &order[i].outcome, e);
        free(order[i].outcome.text);
    }
    o->count = kept;
    free(order);
    return code;
}
