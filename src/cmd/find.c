/* bload find prints where sequences lie, and what a training run reads in a step.
 *
 * The questions are answered by store/find.h, which returns pieces: the steps of one sequence in one block. This file
 * reads the ids, prints a line for each piece, and decodes text on request. With --epoch a piece also has the step, the
 * rank and the place at which a training run reads it, for example, cut after five columns:
 *
 *     id        block  start  length  source_start
 *     swim.mp4  17     12     52      0 */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "base/output.h"
#include "base/text.h"
#include "cmd/cmd.h"
#include "cmd/extra_field.h"
#include "kind/row.h"
#include "cmd/remote.h"
#include "cmd/signals.h"
#include "store/blocks.h"
#include "store/field_tokenizer.h"
#include "store/find.h"

enum {
    NAMED = 10,      /* ids without a sequence of which the messages name at most this many */
    COLUMNS = 160,   /* characters of a line of text */
    TOKENS = 1 << 12 /* steps of a field of text that are read at a time */
};

/* The state of the command: options first, then what it has opened and found. */
struct find {
    int64_t step, lines; /* step from 0, if has_step; lines of text for each piece */
    bool has_step, is_training, json, text;
    const char *field, *tokenizer;
    struct bl_training training;
    struct bl_view view;
    struct bl_find found;
    struct bl_buffer ids; /* the ids requested, each with a NUL after it */
    struct bl_output out;
    struct bl_buffer line;              /* the next lines of the output */
    struct bl_buffer decoded;           /* the text of a piece, before invalid bytes are replaced */
    struct bl_detokenizer *detokenizer; /* with --text */
    int text_field;                     /* with --text: index of the field that is decoded */
    int64_t reported;                   /* failed row of the piece before, + 1; 0: that row has not failed */
    uint8_t *tokens;                    /* [TOKENS] steps of the field; with --text */
    struct bl_cmd_remote remote;        /* options of URLs */
};

/* The options that choose and print. `only` names an option without which another one has no meaning. */
static const struct bl_option table[] = {
    BL_OPTION_INT("step", struct find, step, BL_AFFECTS_NOTHING,
                  "what all ranks read in this step of the epoch, from 0, instead of ids", .only = "epoch"),
    BL_OPTION_FLAG("json", struct find, json, BL_AFFECTS_NOTHING, "print JSON, one object a line"),
    BL_OPTION_FLAG("text", struct find, text, BL_AFFECTS_NOTHING,
                   "also print the first lines of the text of each piece"),
    BL_OPTION_INT("lines", struct find, lines, BL_AFFECTS_NOTHING, "lines of text, of 160 characters at most",
                  .initial = "4", .min = 1, .max = 1000000, .only = "text"),
    BL_OPTION_STRING("tokenizer", struct find, tokenizer, BL_AFFECTS_NOTHING,
                     "the tokenizer that made the tokens, to decode them", .placeholder = "FILE", .only = "text"),
    BL_OPTION_STRING("field", struct find, field, BL_AFFECTS_NOTHING,
                     "the field to decode [the first with ids of a tokenizer]", .placeholder = "NAME", .only = "text"),
    {0},
};

static const char *const remainder_names[] = {"error", "pad", "drop", NULL};
static const char *const deal_names[] = {"blocks", "batches", NULL};

/* The training run: all options are needed to repeat what its sampler did, and the defaults are those of the sampler.
 */
static const struct bl_option training_table[] = {
    BL_OPTION_INT("epoch", struct bl_training, epoch, BL_AFFECTS_NOTHING,
                  "epoch of the training run, from 0: also tell step, rank and place in the batch"),
    BL_OPTION_INT("world-size", struct bl_training, world_size, BL_AFFECTS_NOTHING,
                  "ranks of the run [those that the blocks were packed for]", .min = 1, .only = "epoch"),
    BL_OPTION_INT("batch-size", struct bl_training, batch_size, BL_AFFECTS_NOTHING,
                  "blocks per rank and step [as packed]", .min = 1, .only = "epoch"),
    BL_OPTION_UINT("seed", struct bl_training, seed, BL_AFFECTS_NOTHING, "seed of the sampler", .initial = "0",
                   .only = "epoch"),
    BL_OPTION_FLAG("shuffle", struct bl_training, is_shuffled, BL_AFFECTS_NOTHING,
                   "whether the sampler shuffles; --shuffle=no: blocks keep their order", .initial = "true",
                   .only = "epoch"),
    BL_OPTION_CHOICE("remainder", struct bl_training, remainder, remainder_names, BL_AFFECTS_NOTHING,
                     "what the sampler does with blocks that do not fill a step", .initial = "error", .only = "epoch"),
    BL_OPTION_INT("consumed", struct bl_training, consumed, BL_AFFECTS_NOTHING,
                  "blocks of the epoch that a resumed run had consumed before, as in the sampler's state; steps count "
                  "from there",
                  .initial = "0", .only = "epoch"),
    BL_OPTION_CHOICE("deal", struct bl_training, deal, deal_names, BL_AFFECTS_NOTHING,
                     "how the blocks of a step go to the ranks: as samplers with a rank take them (blocks), or as "
                     "Accelerate and the Trainer of Transformers divide them (batches)",
                     .initial = "blocks", .only = "epoch"),
    BL_OPTION_INT("window", struct bl_training, window, BL_AFFECTS_NOTHING,
                  "window of a BlockDataset, in blocks, which composes epochs without plans", .min = 1,
                  .only = "epoch"),
    BL_OPTION_UINT("window-seed", struct bl_training, window_seed, BL_AFFECTS_NOTHING,
                   "window_seed of the BlockDataset", .initial = "0", .only = "window"),
    {0},
};

/* --- ids ---------------------------------------------------------------------------------------------------------- */

/* Appends the ids of all operands to f->ids. An operand is an id, @FILE, or "-" for a list from standard input. */
static int ids_read(struct bl_cmd *cmd, struct find *f, size_t *count)
{
    int code = BL_OK;
    for (int i = 1; i < cmd->options.operands && !code; i++) {
        const char *operand = cmd->options.operand[i];
        const char *list = strcmp(operand, "-") == 0 ? operand : operand[0] == '@' ? operand + 1 : NULL;
        if (!list)
            bl_buffer_append(&f->ids, operand, strlen(operand) + 1);
        code = list ? bl_lines_append_list(list, &f->ids, &cmd->error) : bl_buffer_check(&f->ids, &cmd->error);
    }
    *count = 0;
    for (size_t at = 0; at < f->ids.size && !code; at += strlen(f->ids.data + at) + 1)
        (*count)++;
    if (!code && !*count)
        code = bl_error_set(&cmd->error, BL_EUSAGE, "the list of ids is empty");
    return code;
}

/* Returns BL_EUSAGE for ids that no sequence has. If there are several, the first ones are printed before. */
static int ids_refuse(struct find *f, const char *const missing[NAMED], size_t misses, size_t count, struct bl_cmd *cmd)
{
    char a[BL_PLURAL_SIZE];
    if (misses == 1)
        return bl_sequence_id_refuse(&f->view, missing[0], &cmd->cancel, &cmd->error);
    for (size_t i = 0; i < misses && i < NAMED; i++)
        bl_cmd_print("%s has no sequence %s", f->view.dir, missing[i]);
    return bl_error_set(&cmd->error, BL_EUSAGE, "%s has no sequences of %zu of %s", f->view.dir, misses,
                        bl_text_plural(a, (int64_t)count, "id"));
}

/* --- text --------------------------------------------------------------------------------------------------------- */

/* Chooses the field of --text, the first with ids of a tokenizer unless --field names another one, and opens its
 * tokenizer. */
static int text_open(struct find *f, struct bl_error *e)
{
    const struct bl_manifest *m = &f->view.manifest;
    const struct bl_fields *fields = &m->format.fields;
    int code = BL_OK;
    f->text_field = -1;
    if (f->field)
        code = bl_field_choose(fields, f->field, &f->text_field, e);
    for (int i = 0; i < fields->count && f->text_field < 0; i++) {
        if (bl_element_is_integer(&fields->field[i]) && bl_field_tokenizer_has_ids(m, i))
            f->text_field = i;
    }
    if (!code && f->text_field < 0)
        code = bl_error_set(e, BL_EUSAGE, "--text: %s has no field of tokens", f->view.dir);
    if (!code)
        code = bl_field_tokenizer_open(m, f->text_field, f->tokenizer, &f->detokenizer, e);
    if (code)
        return code;
    /* A fixed buffer: a piece may have millions of steps, of which only the beginning is decoded. */
    f->tokens = malloc(TOKENS * bl_field_step_bytes(&fields->field[f->text_field]));
    return f->tokens ? BL_OK : bl_error_memory(e);
}

/* Decodes the beginning of the piece to f->decoded: so much that every line can have COLUMNS characters. */
static int text_decode(struct find *f, const struct bl_found *piece, struct bl_error *e)
{
    const struct bl_field *field = &f->view.manifest.format.fields.field[f->text_field];
    const struct bl_step_range all = {.end = -1};
    const struct bl_step_range range =
        field->own ? all : (struct bl_step_range){piece->source_start, piece->source_start + piece->length, true};
    const size_t enough = (size_t)f->lines * COLUMNS * BL_UTF8_MAX;
    struct bl_stored_sequence stored;
    int64_t steps = 1;
    bl_detokenizer_restart(f->detokenizer);
    bl_buffer_clear(&f->decoded);
    if (field->own && piece->source_start) /* own steps lie where the sequence begins */
        return BL_OK;
    int code = bl_stored_sequence_begin(&stored, &f->view, piece->row, f->text_field, &range, e);
    while (!code && steps && f->decoded.size <= enough) {
        code = bl_stored_sequence_read(&stored, TOKENS, f->tokens, &steps, e);
        for (int64_t i = 0; i < steps && !code; i++) {
            int64_t id = bl_element_integer(field->dtype, f->tokens + (size_t)i * bl_field_step_bytes(field));
            code = bl_detokenizer_append(f->detokenizer, id, &f->decoded, e);
        }
    }
    return code ? code : bl_buffer_check(&f->decoded, e);
}

/* Sets f->line to the first lines of a text of valid UTF-8, each with the prefix. A long line is cut in lines of
 * COLUMNS characters. A last line "..." says that the text goes on. */
static void text_cut(struct find *f, const struct bl_buffer *text, const char *prefix)
{
    size_t at = 0;
    bl_buffer_clear(&f->line);
    for (int64_t line = 0; at < text->size && line < f->lines; line++) {
        size_t begin = at;
        for (int columns = 0; at < text->size && text->data[at] != '\n' && columns < COLUMNS; columns++)
            at += bl_utf8_length(text->data + at, text->size - at);
        bl_buffer_printf(&f->line, "%s%.*s\n", prefix, (int)(at - begin), text->data + begin);
        at += at < text->size && text->data[at] == '\n';
    }
    if (at < text->size)
        bl_buffer_printf(&f->line, "%s...\n", prefix);
}

/* Sets f->line to the first lines of the text of a piece. Bytes that are no UTF-8 are replaced, as a piece may begin
 * and end inside of a character; control characters are masked. */
static int text_make(struct find *f, const struct bl_found *piece, const char *prefix, struct bl_error *e)
{
    struct bl_buffer text = {0};
    int64_t replaced = 0;
    int code = text_decode(f, piece, e);
    if (!code && f->decoded.size)
        (void)bl_text_replace_invalid(f->decoded.data, f->decoded.size, &text, &replaced);
    if (!code)
        code = bl_buffer_check(&text, e);
    if (!code && text.size) {
        text.size = bl_utf8_mask(text.data, text.size, "\n\t");
        text_cut(f, &text, prefix);
    } else {
        bl_buffer_clear(&f->line);
    }
    bl_buffer_free(&text);
    return code ? code : bl_buffer_check(&f->line, e);
}

/* --- output ------------------------------------------------------------------------------------------------------- */

/* Writes the lines in f->line; an empty buffer writes nothing. */
static int find_write_line(struct find *f, struct bl_error *e)
{
    BL_TRY(bl_buffer_check(&f->line, e));
    return f->line.size ? bl_output_write(&f->out, f->line.data, f->line.size, e) : BL_OK;
}

/* Writes the line of a piece. The columns of training have "-" for a piece that no rank reads. */
static int find_write_row(struct find *f, const struct bl_found *found, const struct bl_row *row, struct bl_error *e)
{
    struct bl_buffer *line = &f->line;
    const struct bl_reading *r = &found->reading;
    bl_buffer_clear(line);
    bl_text_escape(line, row->id, strlen(row->id));
    bl_buffer_printf(line, "\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t", found->block, found->start,
                     found->length, found->source_start);
    if (found->is_read)
        bl_buffer_printf(line, "%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t", r->step, r->rank, r->place);
    else if (f->is_training)
        bl_buffer_text(line, "-\t-\t-\t");
    int code = bl_find_append_shards(&f->found, found, line, e);
    bl_buffer_byte(line, '\n');
    return code ? code : find_write_line(f, e);
}

/* Prints why a sequence is in no block (is_placed false), or why steps of it are zeros. */
static void find_print_status(const struct bl_row *row, bool is_placed, const char *dir)
{
    const char *colon = row->reason[0] ? ": " : "";
    if (is_placed)
        bl_cmd_print("%s failed while packing, and steps of it are zeros%s%s", row->id, colon, row->reason);
    else if (row->status == BL_ROW_FAILED)
        bl_cmd_print("%s is in no block: it failed while packing%s%s", row->id, colon, row->reason);
    else if (row->status != BL_ROW_OK)
        bl_cmd_print("%s is in no block: it was %s%s%s", row->id, bl_row_status_name(row->status), colon, row->reason);
    else
        bl_cmd_print("%s is in no block: the plan of %s leaves it out", row->id, dir);
}

/* Writes a piece, or that its row is in no block (found->block is -1). JSON has both as objects; as text, the second is
 * a message. */
static int find_write(struct find *f, const struct bl_found *found, struct bl_error *e)
{
    const struct bl_row *row;
    const bool is_placed = found->block >= 0;
    int code = BL_OK;
    BL_TRY(bl_view_row(&f->view, found->row, &row, e));
    /* The pieces of a sequence that failed are zeros in their blocks, so they have no text. */
    const bool is_failed = is_placed && row->status != BL_ROW_OK;
    if (!f->json && (!is_placed || (is_failed && f->reported != found->row + 1)))
        find_print_status(row, is_placed, f->view.dir);
    f->reported = is_failed ? found->row + 1 : 0; /* pieces of a row follow each other: one message for all of them */
    const bool has_text = f->text && is_placed && row->status == BL_ROW_OK;
    if (!f->json && is_placed)
        code = find_write_row(f, found, row, e);
    if (!code && has_text)
        code = text_make(f, found, f->json ? "" : "    ", e);
    if (code || (!f->json && !has_text))
        return code;
    if (f->json) {
        char *text = has_text ? strdup(f->line.size ? f->line.data : "") : NULL;
        if (has_text && !text)
            return bl_error_memory(e);
        bl_buffer_clear(&f->line);
        code = bl_find_append_json(&f->found, found, text, &f->line, e);
        free(text);
    }
    return code ? code : find_write_line(f, e);
}

/* Prints the order of the epoch: plan, shuffling, and its size in steps. */
static void find_print_training(const struct find *f)
{
    const struct bl_training *t = &f->training;
    char steps[BL_PLURAL_SIZE], ranks[BL_PLURAL_SIZE], blocks[BL_PLURAL_SIZE], order[64], plan[96];
    snprintf(order, sizeof order, t->is_shuffled ? "shuffled by seed %" PRIu64 : "not shuffled", t->seed);
    if (t->window && t->epoch)
        snprintf(plan, sizeof plan, "windows of %s, seed %" PRIu64, bl_text_plural(steps, t->window, "block"),
                 t->window_seed);
    else
        snprintf(plan, sizeof plan, "plan %" PRId64, f->found.plan);
    bl_cmd_print("epoch %" PRId64 " by %s, %s: %s of %s with %s each", t->epoch, plan, order,
                 bl_text_plural(steps, f->found.order.steps, "step"), bl_text_plural(ranks, t->world_size, "rank"),
                 bl_text_plural(blocks, t->batch_size, "block"));
}

/* Writes all that was found, in the order of the `rows` rows requested. A row without a piece is in no block. With rows
 * 0 the pieces of a step are written. */
static int find_write_all(struct bl_cmd *cmd, struct find *f, const int64_t *row, size_t rows)
{
    size_t at = 0;
    int64_t unread = 0; /* pieces in blocks that no rank reads in this run */
    char a[BL_PLURAL_SIZE];
    if (f->is_training && !cmd->common.quiet)
        find_print_training(f);
    bl_buffer_clear(&f->line);
    if (!f->json)
        bl_buffer_printf(&f->line, "id\tblock\tstart\tlength\tsource_start\t%sshard\n",
                         f->is_training ? "step\trank\tplace\t" : "");
    int code = find_write_line(f, &cmd->error);
    for (size_t i = 0; i < rows && !code; i++) {
        const struct bl_found none = {.row = row[i], .block = -1};
        if (at == f->found.count || f->found.found[at].subject != i)
            code = find_write(f, &none, &cmd->error);
        for (; at < f->found.count && f->found.found[at].subject == i && !code; at++)
            code = bl_cancelled(&cmd->cancel) ? BL_ECANCEL : find_write(f, &f->found.found[at], &cmd->error);
    }
    for (; at < f->found.count && !code; at++)
        code = bl_cancelled(&cmd->cancel) ? BL_ECANCEL : find_write(f, &f->found.found[at], &cmd->error);
    if (!code)
        code = bl_output_commit(&f->out, &cmd->error);
    for (size_t i = 0; i < f->found.count; i++)
        unread += !f->found.found[i].is_read;
    if (!code && !cmd->common.quiet && f->is_training && unread)
        bl_cmd_print("%s not read: the blocks were consumed before, or are left out at the end",
                     bl_text_plural(a, unread, "piece is|pieces are"));
    return code;
}

/* Finds the sequences with the ids. Those that exist are written before an id without a sequence is an error, so that a
 * long list needs no second run. */
static int find_ids(struct bl_cmd *cmd, struct find *f)
{
    size_t count, found = 0, misses = 0;
    const char *missing[NAMED];
    int code = ids_read(cmd, f, &count);
    /* All ids are looked up in one pass over the table, which may have 10^8 rows. */
    const char **id = code ? NULL : calloc(count, sizeof *id);
    int64_t *row = code ? NULL : calloc(count, sizeof *row);
    if (!code && (!id || !row))
        code = bl_error_memory(&cmd->error);
    for (size_t i = 0, at = 0; i < count && !code; i++, at += strlen(f->ids.data + at) + 1)
        id[i] = f->ids.data + at;
    if (!code)
        code = bl_sequence_ids_find(&f->view, id, count, &cmd->cancel, row, &cmd->error);
    for (size_t i = 0; i < count && !code; i++) {
        if (row[i] >= 0)
            row[found++] = row[i]; /* the rows that exist move together */
        else if (misses++ < NAMED)
            missing[misses - 1] = id[i];
    }
    if (!code && found)
        code = bl_find_rows(&f->found, row, found, &cmd->error);
    if (!code && found)
        code = find_write_all(cmd, f, row, found);
    if (!code && misses)
        code = ids_refuse(f, missing, misses, count, cmd);
    free(id);
    free(row);
    return code;
}

/* Checks the operands and options, opens everything that the question needs, and answers it. The rank and step of a
 * piece are known only with --epoch. */
static int find_run(struct bl_cmd *cmd, struct find *f)
{
    const struct bl_options *o = &cmd->options;
    struct bl_training *t = &f->training;
    const char *dir;
    f->has_step = bl_options_origin(o, "step") != BL_ORIGIN_DEFAULT;
    f->is_training = bl_options_origin(o, "epoch") != BL_ORIGIN_DEFAULT;
    if (!o->operands || (o->operands == 1 && !f->has_step))
        return bl_error_set(&cmd->error, BL_EUSAGE,
                            "expects a dataset directory, and ids or --step N (see bload find "
                            "--help)");
    if (o->operands > 1 && f->has_step)
        return bl_error_set(&cmd->error, BL_EUSAGE, "ids or --step, not both");
    BL_TRY(bl_options_check(o, &cmd->error));
    BL_TRY(bl_cmd_remote_dataset(&f->remote, cmd, &dir));
    BL_TRY(bl_view_open(&f->view, dir, &cmd->error));
    const struct bl_plan_info *info = &f->view.manifest.plan_info;
    /* Without options, the run is that for which the blocks were packed. */
    t->world_size = t->world_size ? t->world_size : info->world_size;
    t->batch_size = t->batch_size ? t->batch_size : info->batch_size;
    int code = f->text ? text_open(f, &cmd->error) : BL_OK;
    if (!code)
        code = bl_find_begin(&f->found, &f->view, f->is_training ? t : NULL, &cmd->cancel, &cmd->error);
    if (!code)
        code = bl_output_open(&f->out, NULL, &cmd->error);
    bl_output_mind_terminal(&f->out); /* ids may have control characters */
    if (!code && f->has_step) {
        code = bl_find_step(&f->found, f->step, &cmd->error);
        if (!code)
            code = find_write_all(cmd, f, NULL, 0);
    } else if (!code) {
        code = find_ids(cmd, f);
    }
    bl_output_abort(&f->out);
    bl_find_free(&f->found);
    bl_view_close(&f->view);
    return code;
}

/* The options of a training run are a group of their own, since they have a meaning only with --epoch. */
int bl_cmd_find(int argc, char **argv)
{
    struct find f = {0};
    struct bl_cmd cmd = {
        .name = "find",
        .usage = "[options] DIR|VIEW ID|@FILE|-...\n"
                 "       bload find --step N --epoch E [options] DIR|VIEW\n"
                 "\n"
                 "Tells where sequences lie: block, steps in the block, and shard. With --epoch, tells also in which\n"
                 "step and on which rank a training run reads them; with --step, what the ranks read in that step.\n"
                 "ID is as in sequences.tsv; @FILE lists ids, one a line, and - is such a list on standard input.",
        .usual = "step epoch world-size batch-size seed text json",
        .examples = "dataset swim.mp4\n"
                    "dataset --epoch 2 --step 4711 --seed 7 --text",
        .operands = "directories"};
    const struct bl_option_group groups[] = {{"Find", table, &f},
                                             {"Training run", training_table, &f.training},
                                             {BL_CMD_REMOTE_TITLE, bl_cmd_remote_table, &f.remote},
                                             {"General", bl_common_table, &cmd.common},
                                             {0}};
    int code = bl_cmd_parse(&cmd, groups, argc, argv);
    if (!code && !cmd.common.help)
        code = find_run(&cmd, &f);
    bl_detokenizer_close(f.detokenizer);
    bl_buffer_free(&f.ids);
    bl_buffer_free(&f.line);
    bl_buffer_free(&f.decoded);
    free(f.tokens);
    bl_cmd_remote_close(&f.remote);
    return bl_cmd_end(&cmd, code, false);
}
