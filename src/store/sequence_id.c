#include "store/sequence_id.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "base/path.h"
#include "base/text.h"

/* Called for each row until it sets *found. */
typedef int id_function(void *context, const char *id, bool *found, struct bl_error *e);

static int ids_visit(struct bl_view *view, const struct bl_cancel *cancel, id_function *take, void *context,
                     int64_t *row, struct bl_error *e)
{
    const struct bl_row *told;
    bool found = false;
    int code = BL_OK;
    *row = -1;
    for (int64_t i = 0; i < view->manifest.rows && !found && !code; i++) {
        code = bl_cancelled(cancel) ? BL_ECANCEL : bl_view_row(view, i, &told, e);
        if (!code)
            code = take(context, told->id, &found, e);
        if (found)
            *row = i;
    }
    return code;
}

/* The id that is looked for, as it was given and without escapes. */
struct wanted {
    const char *id, *plain;
};

static int id_compare(void *context, const char *id, bool *found, struct bl_error *e)
{
    const struct wanted *wanted = context;
    (void)e;
    *found = !strcmp(id, wanted->id) || !strcmp(id, wanted->plain);
    return BL_OK;
}

/* The most similar id so far. */
struct similar {
    struct bl_nearest nearest;
    struct bl_buffer behind_source; /* "/ID" */
    char *best;
};

static int id_offer(void *context, const char *id, bool *found, struct bl_error *e)
{
    struct similar *similar = context;
    const char *before = similar->nearest.best;
    *found = bl_path_has_suffix(id, similar->behind_source.data);
    if (!*found)
        bl_nearest_offer(&similar->nearest, id);
    if (!*found && similar->nearest.best == before)
        return BL_OK;
    char *best = strdup(id);
    free(similar->best);
    similar->nearest.best = similar->best = best;
    return best ? BL_OK : bl_error_memory(e);
}

/* Says that there is no such id. */
static int id_refuse(struct bl_view *view, const char *id, const struct bl_cancel *cancel, struct bl_error *e)
{
    struct similar similar = {.nearest = {.word = id, .size = strlen(id)}};
    int64_t row;
    bl_buffer_printf(&similar.behind_source, "/%s", id);
    int code = bl_buffer_check(&similar.behind_source, e);
    if (!code)
        code = ids_visit(view, cancel, id_offer, &similar, &row, e);
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
    char *plain = strdup(id);
    if (!plain)
        return bl_error_memory(e);
    int64_t size = bl_text_unescape(plain, strlen(plain));
    if (size >= 0)
        plain[size] = 0;
    int code = ids_visit(view, cancel, id_compare, &(struct wanted){id, size < 0 ? id : plain}, row, e);
    if (!code && *row < 0)
        code = id_refuse(view, id, cancel, e);
    free(plain);
    return code;
}
