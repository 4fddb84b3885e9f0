/* The identity of a chain: everything that decides the dataset, and the number of tasks. A different chain in the same
 * place is refused before it submits anything. */
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/checksum.h"
#include "base/identity_lines.h"
#include "base/io.h"
#include "base/output.h"
#include "base/text.h"
#include "cmd/slurm.h"
#include "packing/identity.h"
#include "run/state.h"
#include "store/manifest.h"

#define CONFIGURATION_MAX ((size_t)1 << 24)

/* Copies the lines of an identity without the SIMD level. That level belongs to the present machine, or in a dataset
 * already begun to the machine that began it. */
static int chain_drop_simd(const char *lines, struct bl_buffer *out, struct bl_error *e)
{
    size_t at = 0, size;
    const char *line;
    while (bl_text_next_line(lines, strlen(lines), &at, &line, &size)) {
        if (strncmp(line, "simd: ", 6) == 0)
            continue;
        bl_buffer_append(out, line, size);
        bl_buffer_byte(out, '\n');
    }
    return bl_buffer_check(out, e);
}

typedef int comparison(const char *there, const char *wanted, const char *what, struct bl_error *e);

static int chain_compare_lines(const char *lines, const char *wanted, const char *what, comparison *by,
                               struct bl_error *e)
{
    struct bl_buffer there = {0};
    int code = chain_drop_simd(lines, &there, e);
    if (code)
        goto out;
    if (there.data)
        code = by(there.data, wanted, what, e);
out:
    bl_buffer_free(&there);
    return code;
}

/* Compares the lines with a file of such lines, if it exists. */
static int chain_compare_file(const char *path, bool sealed, const char *wanted, const char *what, comparison *by,
                              struct bl_error *e)
{
    struct bl_buffer text = {0};
    int code = access(path, F_OK) == 0 ? bl_io_read_file(path, CONFIGURATION_MAX, &text, e) : BL_OK;
    if (!code && text.data && sealed)
        code = bl_sealed_open(&text, path, e);
    if (code)
        goto out;
    if (text.data)
        code = chain_compare_lines(text.data, wanted, what, by, e);
out:
    bl_buffer_free(&text);
    return code;
}

/* Computes the lines that bload pack has for these inputs. */
static int chain_identify(struct bl_cmd *cmd, struct bl_inputs *inputs, const struct bl_packing_request *request,
                          struct bl_buffer *lines)
{
    int code = bl_inputs_list(inputs, cmd);
    if (code)
        return code;
    bl_inputs_want(inputs, request->subset, request->plan_options);
    code = bl_inputs_use(inputs, inputs->set.files.kind, cmd);
    if (code)
        return code;
    code = bl_packing_check_inputs(request, &cmd->error);
    return code ? code : bl_packing_identify(request, lines, &cmd->error);
}

int bl_slurm_identify(struct bl_cmd *cmd, const struct bl_slurm *s, struct bl_inputs *inputs,
                      const struct bl_packing_request *request, struct bl_buffer *lines)
{
    struct bl_error *e = &cmd->error;
    struct bl_buffer identity = {0};
    int code = chain_identify(cmd, inputs, request, &identity);
    /* A user who only verifies a dataset may have moved its inputs. */
    if (code && bl_slurm_is_finished(s)) {
        bl_cmd_print("%s is complete; its inputs cannot be compared with %s: %s", s->output, s->config, e->text);
        bl_error_clear(e);
        code = BL_OK;
    } else if (!code) {
        bl_buffer_printf(lines, "tasks: %" PRId64 "\n", s->tasks);
        code = chain_drop_simd(identity.data, lines, e);
    }
    bl_buffer_free(&identity);
    return code;
}

/* Checks that the scan has the given number of parts. */
static int chain_compare_tasks(const char *there, const char *wanted, const char *what, struct bl_error *e)
{
    size_t at = 0, size, own = strcspn(wanted, "\n");
    const char *line;
    while (bl_text_next_line(there, strlen(there), &at, &line, &size)) {
        if (strncmp(line, "tasks: ", 7) == 0 && (size != own || memcmp(line, wanted, own) != 0))
            return bl_error_set(e, BL_EUSAGE, "%s in %.*s tasks: give --tasks %.*s, or choose another directory", what,
                                (int)size - 7, line + 7, (int)size - 7, line + 7);
    }
    return bl_identity_within(there, strchr(wanted, '\n') + 1, what, e);
}

static bool chain_stage_is_done(const struct bl_slurm_stage *stage)
{
    int64_t done = 0;
    for (int64_t i = 0; i < stage->tasks; i++)
        done += stage->task[i].done;
    return done == stage->tasks;
}

/* Compares with the manifest of a complete dataset. */
static int chain_compare_manifest(const struct bl_slurm *s, const char *wanted, struct bl_error *e)
{
    struct bl_buffer there = {0}, what = {0};
    struct bl_manifest m = {0};
    bl_buffer_printf(&what, "%s holds a dataset", s->dir);
    int code = bl_buffer_check(&what, e);
    if (code)
        goto out;
    code = bl_manifest_read(&m, s->dir, e);
    if (code)
        goto out;
    code = bl_identity_of_manifest(&m, &there, e);
    if (code)
        goto out;
    code = chain_compare_lines(there.data, wanted, what.data, bl_identity_compare, e);
out:
    bl_manifest_free(&m);
    bl_buffer_free(&there);
    bl_buffer_free(&what);
    return code;
}

/* Compares with the state in DIR, from this command or from commands run by hand. */
static int chain_compare_state(const struct bl_slurm *s, const char *lines, struct bl_error *e)
{
    struct bl_buffer path = {0}, what = {0}, scanned = {0};
    bl_buffer_printf(&what, "%s holds an unfinished dataset", s->dir);
    bl_buffer_printf(&scanned, "%s is being scanned", s->dir);
    int code = what.failed || scanned.failed ? bl_error_memory(e) : bl_slurm_state_path(s, BL_STATE_SCAN, &path, e);
    if (!code && !chain_stage_is_done(&s->stage[BL_SLURM_SCAN]))
        code = chain_compare_file(path.data, true, lines, scanned.data, chain_compare_tasks, e);
    bl_buffer_clear(&path);
    if (!code)
        code = bl_slurm_state_path(s, BL_STATE_CONFIGURATION, &path, e);
    if (!code)
        code = chain_compare_file(path.data, true, strchr(lines, '\n') + 1, what.data, bl_identity_compare, e);
    bl_buffer_free(&path);
    bl_buffer_free(&what);
    bl_buffer_free(&scanned);
    return code;
}

/* Before any job has begun, a user may change the options without removing files. */
static bool chain_is_begun(const struct bl_slurm *s)
{
    bool begun = s->entries > 0 || bl_slurm_is_finished(s);
    struct bl_buffer path = {0};
    begun |= !bl_slurm_state_path(s, "", &path, NULL) && access(path.data, F_OK) == 0;
    bl_buffer_free(&path);
    return begun;
}

int bl_slurm_agree(const struct bl_slurm *s, const char *lines, struct bl_error *e)
{
    struct bl_buffer path = {0}, what = {0};
    if (!lines)
        return BL_OK;
    bl_buffer_printf(&what, "%s holds a chain", s->folder);
    int code = bl_buffer_check(&what, e);
    if (code)
        goto out;
    code = bl_slurm_path(s, "configuration", &path, e);
    if (code)
        goto out;
    if (chain_is_begun(s))
        code = chain_compare_file(path.data, false, lines, what.data, bl_identity_compare, e);
    if (code)
        goto out;
    code = bl_slurm_is_finished(s) ? chain_compare_manifest(s, strchr(lines, '\n') + 1, e)
                                   : chain_compare_state(s, lines, e);
    if (code)
        goto out;
    code = bl_output_replace(path.data, lines, strlen(lines), e);
out:
    bl_buffer_free(&path);
    bl_buffer_free(&what);
    return code;
}
