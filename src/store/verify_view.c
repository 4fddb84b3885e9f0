#include "store/verify_view.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "store/epochs.h"
#include "store/view.h"

struct view_check {
    struct bl_view view;
    struct bl_fault_sink sink;
    int64_t most; /* sequences in a block of any plan */
};

/* --- places ----------------------------------------------------------------------------------------------------- */

/* What can be said of two tables of the same name, one of which may be missing. */
static bool table_is_same(const void *a, const void *b, int64_t count, size_t size)
{
    return a && b ? memcmp(a, b, (size_t)count * size) == 0 : !a && !b;
}

/* The places must be those that the indexes of the sources give. */
static int check_places(const struct view_check *c, struct bl_error *e)
{
    const struct bl_manifest *m = &c->view.manifest;
    const struct bl_places *its = &c->view.places;
    struct bl_places made = {0};
    struct bl_index *index = calloc(m->sources, sizeof *index);
    int64_t *first_row = calloc(m->sources + 1, sizeof *first_row);
    int code = index && first_row ? BL_OK : bl_error_memory(e);
    for (size_t s = 0; s < m->sources && !code; s++) {
        index[s] = c->view.source[s].index;
        first_row[s] = m->source[s].first_row;
        first_row[s + 1] = first_row[s] + m->source[s].rows;
    }
    if (!code)
        code = bl_places_collect(&made, index, first_row, m->sources, e);
    if (code == BL_EDATA) {
        bl_fault_report(&c->sink, BL_PLACES_FILE, "%s", e->text);
        bl_error_clear(e);
        code = BL_OK;
    } else if (!code && !(made.parts == its->parts && table_is_same(made.block, its->block, made.parts, 8) &&
                          table_is_same(made.start, its->start, made.parts, 4) &&
                          table_is_same(made.length, its->length, made.parts, 4) &&
                          table_is_same(made.source_start, its->source_start, made.parts, 8) &&
                          table_is_same(made.row_ptr, its->row_ptr, made.rows + 1, 8))) {
        bl_fault_report(&c->sink, BL_PLACES_FILE, "differs from what the indexes of the sources say");
    }
    bl_places_free(&made);
    free(index);
    free(first_row);
    return code;
}

/* --- plans ------------------------------------------------------------------------------------------------------ */

/* Each piece must be stored. Returns the placed steps; -1: one is not, which was reported. */
static int64_t check_pieces(const struct view_check *c, const char *file, const struct bl_plan *plan)
{
    const struct bl_places *places = &c->view.places;
    int64_t placed = 0;
    for (size_t p = 0; p < plan->pieces; p++) {
        int64_t row = plan->sequence[p], first = plan->source_start ? plan->source_start[p] : 0;
        int64_t begin = bl_places_begin(places, row), steps = bl_places_steps(places, row);
        if (!steps || first < begin || plan->length[p] > begin + steps - first) {
            bl_fault_report(&c->sink, file,
                            "piece %zu: steps %" PRId64 " to %" PRId64 " of sequence %" PRId64 " are not stored", p,
                            first, first + plan->length[p], row);
            return -1;
        }
        placed += plan->length[p];
    }
    return placed;
}

/* Compares the counts of the first plan with the manifest. */
static void check_counts(const struct view_check *c, const struct bl_plan *plan, int64_t placed)
{
    const struct bl_manifest *m = &c->view.manifest;
    const struct bl_plan_info *w = &m->plan_info;
    int64_t sum = 0;
    for (size_t s = 0; s < m->sources; s++)
        sum += m->source[s].steps;
    if (bl_plan_info_placed(w) != placed || sum != placed)
        bl_fault_report(&c->sink, BL_MANIFEST_FILE, "has %" PRId64 " steps, its sources %" PRId64 ", the plan %" PRId64,
                        bl_plan_info_placed(w), sum, placed);
    if (w->padding != (int64_t)plan->blocks * plan->T - placed)
        bl_fault_report(&c->sink, BL_MANIFEST_FILE, "\"padding\" is %" PRId64 ", the plan has %" PRId64, w->padding,
                        (int64_t)plan->blocks * plan->T - placed);
}

static int check_plan(struct view_check *c, int64_t epoch, const char *file, struct bl_error *e)
{
    const struct bl_format *format = &c->view.manifest.format;
    struct bl_plan plan = {0};
    char digest[BL_DIGEST_SIZE];
    int code = bl_view_set_epoch(&c->view, epoch, e);
    if (!code)
        code = bl_index_read_plan(&c->view.index, format->T, bl_manifest_align(&c->view.manifest), &plan, e);
    if (!code && !epoch)
        code = bl_index_plan_digest(&c->view.index, format->T, digest, e);
    if (code)
        goto out;
    if (!epoch && strcmp(digest, format->plan_digest) != 0)
        bl_fault_report(&c->sink, file, "plan digest %s, the manifest says %s", digest, format->plan_digest);
    int64_t placed = check_pieces(c, file, &plan);
    if (!epoch && placed >= 0)
        check_counts(c, &plan, placed);
    for (size_t b = 0; b < plan.blocks; b++) {
        int64_t n = plan.block_ptr[b + 1] - plan.block_ptr[b];
        c->most = n > c->most ? n : c->most;
    }
out:
    bl_plan_free(&plan);
    if (code == BL_EDATA || code == BL_EUSAGE) {
        bl_fault_report(&c->sink, file, "%s", e->text);
        bl_error_clear(e);
        return BL_OK;
    }
    return code;
}

static int check_plans(struct view_check *c, const struct bl_cancel *cancel, struct bl_error *e)
{
    const struct bl_manifest *m = &c->view.manifest;
    int code = check_plan(c, 0, BL_INDEX_FILE, e);
    for (size_t i = 0; i < m->files && !code; i++) {
        int64_t epoch = bl_epochs_number(m->file[i].name);
        if (bl_cancelled(cancel))
            code = BL_ECANCEL;
        else if (epoch)
            code = check_plan(c, epoch, m->file[i].name, e);
    }
    if (!code && c->most > m->format.S)
        bl_fault_report(&c->sink, BL_MANIFEST_FILE, "\"S\" is %" PRId64 ", but a block has %" PRId64 " sequences",
                        m->format.S, c->most);
    return code;
}

/* --- all of it -------------------------------------------------------------------------------------------------- */

int bl_verify_view(const char *dir, const struct bl_cancel *cancel, bl_fault *fault, bl_fault *remark, void *context,
                   struct bl_error *e)
{
    struct view_check c = {.view.index.fd = -1, .sink = {fault, context}};
    struct bl_error why = {0};
    struct bl_manifest m;
    bool sound = false;
    int code = bl_manifest_inspect(&m, dir, &sound, e);
    if (code)
        return code;
    for (size_t i = 0; i < m.files && !bl_cancelled(cancel); i++)
        bl_fault_check_file(&c.sink, dir, &m.file[i]);
    bl_manifest_free(&m);
    code = bl_view_open(&c.view, dir, &why);
    if (code) {
        bl_fault_report(&c.sink, BL_MANIFEST_FILE, "%s", why.text);
        return BL_OK;
    }
    code = check_places(&c, e);
    if (!code)
        code = check_plans(&c, cancel, e);
    const struct bl_verify strays = {.dir = dir, .manifest = c.view.manifest};
    if (!code)
        bl_verify_epoch_strays(&strays, fault, remark, context);
    bl_view_close(&c.view);
    return code;
}
