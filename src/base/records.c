#include "base/records.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/json.h"

/* --- elements of arrays ----------------------------------------------------------------------------------------- */

/* Scans a string on. Returns where scanning goes on; s->quoted is false where the string ended. */
static const char *string_scan(struct bl_record_scan *s, const char *at, const char *end)
{
    while (at < end) {
        if (!s->escaped)
            at = bl_json_next_special(at, end);
        if (at == end)
            break;
        bool was_escaped = s->escaped;
        s->escaped = false;
        if (*at == '\n' || (*at == '"' && !was_escaped)) {
            s->quoted = false;
            return at + (*at == '"');
        }
        s->escaped = *at == '\\' && !was_escaped;
        at++;
    }
    return at;
}

/* A byte outside strings. True: the element ends, and *at is moved past its last byte. */
static bool element_step(struct bl_record_scan *s, const char **at)
{
    switch (**at) {
    case '"':
        s->quoted = true;
        break;
    case '{':
    case '[':
        s->depth++;
        break;
    case '}':
    case ']':
        if (s->depth == 0)
            return true;
        *at += s->depth == 1;
        if (--s->depth == 0)
            return true;
        break;
    case ',':
    case ' ':
    case '\t':
    case '\r':
    case '\n':
        if (!s->depth)
            return true;
        break;
    default:
        break;
    }
    ++*at;
    return false;
}

bool bl_record_element_end(struct bl_record_scan *s, const char *text, size_t from, size_t size, size_t *stop)
{
    const char *at = text + from, *end = text + size;
    bool ended = false;
    while (at < end && !ended) {
        if (!s->quoted) {
            ended = element_step(s, &at);
            continue;
        }
        at = string_scan(s, at, end);
        ended = !s->quoted && !s->depth;
    }
    *stop = (size_t)(at - text);
    return ended;
}

/* --- rows ------------------------------------------------------------------------------------------------------- */

/* Where in a row a byte is. The first is at the beginning of a value. */
enum { ROW_BEGIN, ROW_PLAIN, ROW_QUOTED, ROW_QUOTE /* in a quoted value: its end, or the first of two */, ROW_RETURN };

/* Goes to the next quote in a quoted value, or to the end of the text. */
static const char *row_skip_quoted(struct bl_record_scan *s, const char *at, const char *end)
{
    const char *quote = memchr(at, '"', (size_t)(end - at)), *stop = quote ? quote : end;
    while ((at = memchr(at, '\n', (size_t)(stop - at)))) {
        s->lines++;
        at++;
    }
    return stop;
}

static const char *row_skip_plain(const char *at, const char *end, char mark)
{
    while (at < end && *at != mark && *at != '\n' && *at != '\r')
        at++;
    return at;
}

/* Where the byte puts what follows it. */
static int row_step(int state, char byte, char mark)
{
    if (byte == '"' && state != ROW_PLAIN)
        return state == ROW_QUOTED ? ROW_QUOTE : ROW_QUOTED;
    if (state == ROW_QUOTED)
        return ROW_QUOTED;
    return byte == mark ? ROW_BEGIN : byte == '\r' ? ROW_RETURN : ROW_PLAIN;
}

bool bl_record_row_end(struct bl_record_scan *s, char mark, const char *text, size_t from, size_t size, size_t *stop,
                       size_t *next)
{
    const char *at = text + from, *end = text + size;
    for (;;) {
        if (s->state == ROW_QUOTED)
            at = row_skip_quoted(s, at, end);
        if (at == end)
            return false;
        bool after_return = s->state == ROW_RETURN;
        if (after_return || (*at == '\n' && s->state != ROW_QUOTED)) {
            *next = (size_t)(at - text) + (*at == '\n');
            *stop = (size_t)(at - text);
            *stop -= after_return && *stop;
            s->lines++;
            return true;
        }
        s->state = row_step(s->state, *at++, mark);
        if (s->state == ROW_PLAIN)
            at = row_skip_plain(at, end, mark);
    }
}

bool bl_record_row_has_return(const struct bl_record_scan *s)
{
    return s->state == ROW_RETURN;
}

char bl_record_find_mark(const char *text, size_t size)
{
    static const char marks[] = ",;\t";
    bool found[sizeof marks] = {false}, quoted = false;
    for (size_t i = 0; i < size && (quoted || text[i] != '\n'); i++) {
        const char *mark = quoted || !text[i] ? NULL : strchr(marks, text[i]);
        quoted ^= text[i] == '"';
        if (mark)
            found[mark - marks] = true;
    }
    for (size_t m = 0; marks[m]; m++) {
        if (found[m])
            return marks[m];
    }
    return marks[0];
}

/* Finds the quote that ends a value, from behind the one that begins it; NULL: there is none. */
static const char *value_find_quote(const char *at, const char *end, bool *doubled)
{
    while ((at = memchr(at, '"', (size_t)(end - at))) && at + 1 < end && at[1] == '"') {
        *doubled = true;
        at += 2;
    }
    return at;
}

bool bl_record_next_value(const char *row, size_t size, char mark, size_t *at, struct bl_record_value *value)
{
    if (*at > size)
        return false;
    const char *begin = row + *at, *end = row + size, *stop;
    *value = (struct bl_record_value){.text = begin};
    bool quoted = begin < end && *begin == '"';
    if (quoted) {
        value->text = ++begin;
        stop = value_find_quote(begin, end, &value->doubled);
        value->size = (size_t)((stop ? stop : end) - begin);
        *at = stop ? (size_t)(stop - row) + 1 : size;
        if (!stop)
            value->fault = "a quote begins a value, and none ends it: double the quotes within values";
        else if (*at < size && row[*at] != mark)
            value->fault = "text after the quote that ends a value: double the quotes within values";
    } else {
        stop = size > *at ? memchr(begin, mark, size - *at) : NULL;
        value->size = (size_t)((stop ? stop : end) - begin);
        *at += value->size;
    }
    *at = value->fault ? SIZE_MAX : *at + 1;
    return true;
}

/* --- places ----------------------------------------------------------------------------------------------------- */

/* Parts of a file are begun in order, so that the last places are the ones to begin at. */
#define PLACES 1024

struct bl_record_places {
    pthread_mutex_t lock;
    struct {
        uint64_t path; /* hash */
        struct bl_record_place place;
    } entry[PLACES]; /* a ring */
    size_t count;    /* that were added */
};

int bl_record_places_open(struct bl_record_places **places, struct bl_error *e)
{
    struct bl_record_places *p = calloc(1, sizeof *p);
    if (!p)
        return bl_error_memory(e);
    pthread_mutex_init(&p->lock, NULL);
    *places = p;
    return BL_OK;
}

void bl_record_places_close(struct bl_record_places *places)
{
    if (places)
        pthread_mutex_destroy(&places->lock);
    free(places);
}

void bl_record_places_add(struct bl_record_places *places, const char *path, const struct bl_record_place *place)
{
    uint64_t hash = XXH3_64bits(path, strlen(path));
    pthread_mutex_lock(&places->lock);
    size_t at = places->count++ % PLACES;
    places->entry[at].path = hash;
    places->entry[at].place = *place;
    pthread_mutex_unlock(&places->lock);
}

struct bl_record_place bl_record_places_find(struct bl_record_places *places, const char *path, int64_t offset)
{
    struct bl_record_place best = {.offset = 0, .line = 1};
    uint64_t hash = XXH3_64bits(path, strlen(path));
    pthread_mutex_lock(&places->lock);
    size_t filled = places->count < PLACES ? places->count : PLACES;
    for (size_t i = 0; i < filled; i++) {
        const struct bl_record_place *place = &places->entry[i].place;
        if (places->entry[i].path == hash && place->offset <= offset && place->offset > best.offset)
            best = *place;
    }
    pthread_mutex_unlock(&places->lock);
    return best;
}
