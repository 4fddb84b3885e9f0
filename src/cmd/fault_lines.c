#include "cmd/fault_lines.h"

#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "cmd/cmd.h"
#include "base/fs.h"
#include "store/folders.h"
#include "store/sequences.h"

enum {
    FAULTS_MAX = 10, /* printed in full, of empty rows or of one file, */
    ALL_MAX = 100,   /* and in all, of damaged files and of others each */
};

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
    bool damage = bl_row_is_damaged(row) && !f->damage_printed && f->damages < ALL_MAX;
    f->damage_printed |= damage;
    bool enough = !damage && (f->printed >= FAULTS_MAX || f->faults >= ALL_MAX);
    f->printed += !enough;
    f->faults += !enough && !damage;
    f->damages += damage;
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

void bl_fault_lines_print_rest(struct bl_fault_lines *f, int64_t suppressed, const char *table)
{
    char a[BL_PLURAL_SIZE];
    suppressed += f->suppressed;
    if (suppressed && !f->is_told && table)
        bl_cmd_print("%s: see %s", bl_text_plural(a, suppressed, "more fault"), table);
    else if (suppressed && !f->is_told)
        bl_cmd_print("%s: bload scan -o TABLE lists them", bl_text_plural(a, suppressed, "more fault"));
    f->is_told = true;
}

void bl_fault_lines_print_rest_of(struct bl_fault_lines *f, int64_t suppressed, const char *dir)
{
    static const char *const names[] = {"/" BL_SEQUENCES_FILE, "/" BL_WORK_FOLDER "/" BL_STATE_SEQUENCES};
    struct bl_buffer path = {0};
    bool found = false;
    for (size_t i = 0; i < sizeof names / sizeof *names && !found; i++) {
        bl_buffer_clear(&path);
        bl_buffer_printf(&path, "%s%s", dir, names[i]);
        found = !path.failed && access(path.data, F_OK) == 0;
    }
    bl_fault_lines_print_rest(f, suppressed, found ? path.data : NULL);
    bl_buffer_free(&path);
}

void bl_fault_lines_print_empty(int64_t empty)
{
    char a[BL_PLURAL_SIZE];
    if (empty)
        bl_cmd_print("%s skipped", bl_text_plural(a, empty, "empty document"));
}

void bl_fault_lines_free(struct bl_fault_lines *f)
{
    bl_buffer_free(&f->path);
    *f = (struct bl_fault_lines){0};
}
