/* Reports of a run to its caller: progress, messages, and faults of inputs.
 *
 * Progress goes to two places: the function of the caller, which draws it, and the heartbeat, which other machines
 * read. */
#include "run/job.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "kind/row.h"

void bl_packing_progress_begin(struct bl_packing *p, const char *what, const char *unit, const char *step,
                               int64_t total)
{
    bl_progress_start(&p->progress, what, unit, step, total);
}

void bl_packing_progress_tick(struct bl_packing *p)
{
    const struct bl_packing_events *events = &p->request.events;
    if (events->progress)
        events->progress(events->sink, &p->progress);
    bl_heartbeat_tick(&p->heartbeat, &p->progress);
}

void bl_packing_progress_end(struct bl_packing *p)
{
    if (p->request.events.progress_end)
        p->request.events.progress_end(p->request.events.sink);
}

void bl_packing_message(const struct bl_packing *p, bool important, const char *format, ...)
{
    char *text = NULL;
    va_list arguments;
    if (!p->request.events.message)
        return;
    va_start(arguments, format);
    int size = vasprintf(&text, format, arguments);
    va_end(arguments);
    if (size >= 0 && p->request.mirror) {
        char *named = bl_mirror_name_url(p->request.mirror, text);
        free(text);
        text = named;
    }
    if (size < 0 || !text)
        return; /* out of memory; the run will fail soon */
    p->request.events.message(p->request.events.sink, important, text);
    free(text);
}

/* Empty inputs are no faults, and a process that only plans reports faults without counting them: the tasks that
 * scanned have counted them already. A damaged input counts for --on-error fail alone, since most of it can be packed.
 */
int bl_packing_fault(struct bl_packing *p, const struct bl_row *row, int64_t inputs, struct bl_error *e)
{
    const struct bl_pack_options *options = p->request.options;
    if (p->request.events.fault)
        p->request.events.fault(p->request.events.sink, row);
    if (p->request.plan_only || bl_row_is_empty(row))
        return BL_OK;
    if (options->on_error == BL_ON_ERROR_FAIL)
        return bl_error_set(e, BL_EFAIL, "%s: %s (--on-error fail)", row->id, row->reason);
    if (row->status == BL_ROW_OK)
        return BL_OK;
    p->unusable++;
    if (!bl_tolerance_exceeded(&options->max_failed, p->unusable, inputs))
        return BL_OK;
    if (inputs == INT64_MAX)
        return bl_error_set(e, BL_EFAIL, "%" PRId64 " inputs are unusable: more than --max-failed allows", p->unusable);
    return bl_error_set(e, BL_EFAIL, "%" PRId64 " of %" PRId64 " inputs are unusable: more than --max-failed allows",
                        p->unusable, inputs);
}
