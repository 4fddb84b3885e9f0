#include "cmd/fault_lines.h"

#include <string.h>

#include "base/text.h"
#include "cmd/cmd.h"

#define FAULTS_MAX 10 /* printed in full, of empty rows or of one file */

/* Counts the faults of a row, since one file may hold many sequences with faults. True: do not print this one. That a
 * file is damaged is printed in any case, once: it may be why its documents have faults. */
static bool fault_lines_suppress(struct bl_fault_lines *f, const struct bl_row *row)
{
    if (bl_row_is_empty(row))
        return f->empty++ >= FAULTS_MAX;
    if (!f->path.data || strcmp(f->path.data, row->path) != 0) {
        bl_buffer_clear(&f->path);
        bl_buffer_text(&f->path, row->path);
        f->printed = 0;
        f->damage_printed = false;
    }
    bool damage = bl_row_is_damaged(row) && !f->damage_printed;
    f->damage_printed |= damage;
    bool enough = f->printed++ >= FAULTS_MAX && !damage;
    f->suppressed += enough;
    return enough;
}

void bl_fault_lines_print(struct bl_fault_lines *f, const struct bl_row *row)
{
    if (fault_lines_suppress(f, row))
        return;
    if (row->status == BL_ROW_OK)
        bl_cmd_print("%s: %s", row->id, row->reason); /* the reason contains the word "damaged" */
    else
        bl_cmd_print("%s %s: %s", bl_row_status_name(row->status), row->id, row->reason);
}

void bl_fault_lines_print_rest(const struct bl_fault_lines *f, int64_t empty, int64_t suppressed)
{
    char a[BL_PLURAL_SIZE];
    suppressed += f->suppressed;
    if (empty)
        bl_cmd_print("%s skipped", bl_text_plural(a, empty, "empty document"));
    if (suppressed)
        bl_cmd_print("%s: see sequences.tsv", bl_text_plural(a, suppressed, "more fault"));
}

void bl_fault_lines_free(struct bl_fault_lines *f)
{
    bl_buffer_free(&f->path);
    *f = (struct bl_fault_lines){0};
}
