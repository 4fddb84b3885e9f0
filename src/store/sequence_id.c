#include "store/sequence_id.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/hash.h"
#include "base/nearest.h"
#include "base/path.h"
#include "base/text.h"

/* Called for each row until it sets *done. */
typedef int id_function(void *context, int64_t row, const char *id, bool *done, struct bl_error *e);

static int ids_visit(struct bl_view *view, const struct bl_cancel *cancel, id_function *take, void *context,
                     struct bl_error *e)
{
    const struct bl_row *told;
    bool done = false;
    int code = BL_OK;
    for (int64_t i = 0; i < view->manifest.rows && !done && !code; i++) {
        code = bl_cancelled(cancel) ? BL_ECANCEL : bl_view_row(view, i, &told, e);
        if (!code)
            code = take(context, i, told->id, &done, e);
    }
    return code;
}

/* The ids that are looked for, as they were given and without escapes. */
struct wanted {
    const char *const *id;
    char **plain; /* [count] */
    size_t count, found;
    struct bl_hash hash; /* of both */
    int64_t *row;
};

static int wanted_add(struct wanted *w, size_t i, const char *text, struct bl_error *e)
{
    return bl_hash_add(&w->hash, XXH3_64bits(text, strlen(text)), i, e);
}

static int wanted_make(struct wanted *w, struct bl_error *e)
{
    w->plain = calloc(w->count + 1, sizeof *w->plain);
    int code = w->plain ? BL_OK : bl_error_memory(e);
    for (size_t i = 0; i < w->count && !code; i++) {
        w->row[i] = -1;
        char *plain = w->plain[i] = strdup(w->id[i]);
        if (!plain)
            return bl_error_memory(e);
        int64_t size = bl_text_unescape(plain, strlen(plain));
        if (size >= 0)
            plain[size] = 0;
        code = wanted_add(w, i, w->id[i], e);
        if (!code && size >= 0 && strcmp(plain, w->id[i]) != 0)
            code = wanted_add(w, i, plain, e);
    }
    return code;
}

static int id_compare(void *context, int64_t row, const char *id, bool *done, struct bl_error *e)
{
    struct wanted *w = context;
    size_t i;
    (void)e;
    for (struct bl_hash_probe probe = bl_hash_begin(&w->hash, XXH3_64bits(id, strlen(id)));
         bl_hash_next(&w->hash, &probe, &i);) {
        if (w->row[i] >= 0 || (strcmp(id, w->id[i]) != 0 && strcmp(id, w->plain[i]) != 0))
            continue;
        w->row[i] = row;
        w->found++;
    }
    *done = w->found == w->count;
    return BL_OK;
}

int bl_sequence_ids_find(struct bl_view *view, const char *const *id, size_t count, const struct bl_cancel *cancel,
                         int64_t *row, struct bl_error *e)
{
    struct wanted w = {.id = id, .count = count, .row = row};
    int code = wanted_make(&w, e);
    if (!code)
        code = ids_visit(view, cancel, id_compare, &w, e);
    for (size_t i = 0; w.plain && i < count; i++)
        free(w.plain[i]);
    free(w.plain);
    bl_hash_free(&w.hash);
    return code;
}

/* The most similar id so far. */
struct similar {
    struct bl_nearest nearest;
    struct bl_buffer behind_source; /* "/ID" */
    char *best;
};

static int id_offer(void *context, int64_t row, const char *id, bool *done, struct bl_error *e)
{
    struct similar *similar = context;
    const char *before = similar->nearest.best;
    (void)row;
    *done = bl_path_has_suffix(id, similar->behind_source.data);
    if (!*done)
        bl_nearest_offer(&similar->nearest, id);
    if (!*done && similar->nearest.best == before)
        return BL_OK;
    char *best = strdup(id);
    free(similar->best);
    similar->nearest.best = similar->best = best;
    return best ? BL_OK : bl_error_memory(e);
}

int bl_sequence_id_refuse(struct bl_view *view, const char *id, const struct bl_cancel *cancel, struct bl_error *e)
{
    struct similar similar = {.nearest = {.word = id, .size = strlen(id)}};
    bl_buffer_printf(&similar.behind_source, "/%s", id);
    int code = bl_buffer_check(&similar.behind_source, e);
    if (!code)
        code = ids_visit(view, cancel, id_offer, &similar, e);
    if (!code && similar.best)
        code = bl_error_set(e, BL_EUSAGE, "%s has no sequence %s: did you mean %s?", view->dir, id, similar.best);
    else if (!code)
        code = bl_error_set(e, BL_EUSAGE, "%s has no sequence %s: the ids are in the first column of its sequences.tsv",
                            view->dir, id);
    free(similar.best);
    bl_buffer_free(&similar.behind_source);
    return code;
}

int bl_sequence_id_find(struct bl_view *view, const char *id, const struct bl_cancel *cancel, int64_t *row,
                        struct bl_error *e)
{
    int code = bl_sequence_ids_find(view, &id, 1, cancel, row, e);
    return code || *row >= 0 ? code : bl_sequence_id_refuse(view, id, cancel, e);
}
