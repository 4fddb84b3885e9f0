/* Packing without a command line: every step of a small dataset, and the faults that are reported on the way. */
#include "run/packing.h"

#include <sys/stat.h>

#include "kind/kinds.h"
#include "scan/sources.h"
#include "unit.h"

UNIT_SCRATCH

/* A request over files of labels, one a line. */
struct setup {
    struct bl_options options;
    struct bl_pack_options pack;
    struct bl_plan_options plan;
    struct bl_input_set inputs;
    struct bl_source source;
    void *config;
    struct bl_cancel cancel;
    struct bl_packing_request request;
    struct bl_subset_options subset;
    /* What was reported: */
    int faults, messages, phases;
    char fault[256];
};

static void on_fault(void *sink, const struct bl_row *row)
{
    struct setup *s = sink;
    s->faults++;
    snprintf(s->fault, sizeof s->fault, "%s %s", bl_row_status_name(row->status), row->id);
}

static void on_progress_end(void *sink)
{
    ((struct setup *)sink)->phases++;
}

static void on_message(void *sink, bool important, const char *text)
{
    (void)important;
    (void)text;
    ((struct setup *)sink)->messages++;
}

static void setup_make(struct setup *s, const char *T)
{
    const struct bl_kind *kind = bl_kind_find("labels");
    struct bl_error e = {0};
    *s = (struct setup){.source = {.path = "in", .kind = kind}};
    s->config = calloc(1, kind->options.config_size);
    ck_assert_ptr_nonnull(s->config);
    int code = bl_options_add(&s->options, "Output", bl_pack_option_table, &s->pack, &e);
    if (!code)
        code = bl_options_add(&s->options, "Planning", bl_plan_option_table, &s->plan, &e);
    if (!code)
        code = bl_options_add(&s->options, "Strategy", bl_plan_strategy_table, &s->plan, &e);
    if (!code)
        code = bl_options_add(&s->options, "Labels", kind->options.table, s->config, &e);
    if (!code)
        code = bl_options_set(&s->options, "T", T, BL_ORIGIN_FLAG, &e);
    if (!code)
        code =
            bl_sources_list(&s->inputs.files, &(struct bl_sources){.source = &s->source, .count = 1, .kind = kind}, &e);
    ck_assert_msg(code == BL_OK, "%s", e.text);
    s->inputs.source = &s->source;
    s->inputs.sources = 1;
    s->inputs.kind = kind;
    s->inputs.kind_config = s->config;
    s->request = (struct bl_packing_request){
        .output = "d",
        .inputs = &s->inputs,
        .options = &s->pack,
        .plan_options = &s->plan,
        .subset = &s->subset,
        .given = &s->options,
        .workers = 2,
        .cancel = &s->cancel,
        .events = {.sink = s, .fault = on_fault, .progress_end = on_progress_end, .message = on_message}};
}

static void setup_free(struct setup *s)
{
    bl_input_set_free(&s->inputs);
    bl_options_free(&s->options);
    free(s->config);
}

/* Takes all steps; result is valid as long as the packing, which is to be closed. */
static struct bl_packing *pack(const struct setup *s, struct bl_packing_result *result)
{
    struct bl_packing *packing;
    struct bl_error e = {0};
    int code = bl_packing_open(&packing, &s->request, &e);
    if (!code)
        code = bl_packing_table(packing, &e);
    if (!code)
        code = bl_packing_plan(packing, &e);
    if (!code)
        code = bl_packing_write(packing, &e);
    if (!code)
        code = bl_packing_finish(packing, &e);
    ck_assert_msg(code == BL_OK, "%s", e.text);
    bl_packing_result(packing, result);
    return packing;
}

static void make_inputs(void)
{
    ck_assert_int_eq(mkdir("in", 0777), 0);
    unit_write_text("in/a.txt", "1\n2\n3\n");
    unit_write_text("in/b.txt", "4\n5\n");
}

UNIT_TEST(every_step_and_once_more)
{
    OWNED(setup_free) struct setup s;
    struct bl_packing_result result;
    make_inputs();
    setup_make(&s, "4");
    struct bl_packing *packing = pack(&s, &result);
    ck_assert_int_eq(result.plan->blocks, 2);
    ck_assert_int_eq(result.table->count, 2);
    ck_assert(!result.partial);
    ck_assert_int_eq(s.faults, 0);
    ck_assert_int_ge(s.phases, 2); /* scan, pack */
    bl_packing_close(packing);
    ck_assert_int_eq(access("d/manifest.json", F_OK), 0);
    ck_assert_int_ne(access("d/.bload", F_OK), 0);

    ck_assert_int_eq(bl_packing_open(&packing, &s.request, &e), BL_OK);
    ck_assert(bl_packing_is_complete(packing));
    ck_assert_int_eq(s.messages, 1);
    bl_packing_close(packing);
    setup_free(&s);

    setup_make(&s, "5");
    FAILS_WITH(bl_packing_open(&packing, &s.request, &e), BL_EUSAGE, "T is \"4\" there, not \"5\"");
    bl_packing_close(packing);
}

UNIT_TEST(a_fault_is_reported)
{
    OWNED(setup_free) struct setup s;
    struct bl_packing_result result;
    make_inputs();
    unit_write_text("in/c.txt", "not a number\n");
    setup_make(&s, "4");
    struct bl_packing *packing = pack(&s, &result);
    ck_assert_int_eq(s.faults, 1);
    ck_assert_str_eq(s.fault, "skipped c.txt");
    ck_assert(result.partial);
    ck_assert_int_eq(result.finished->skipped, 1);
    bl_packing_close(packing);
}

/* --on-error fail */
UNIT_TEST(a_fault_ends_it)
{
    OWNED(setup_free) struct setup s;
    struct bl_packing *packing;
    make_inputs();
    unit_write_text("in/c.txt", "not a number\n");
    setup_make(&s, "4");
    s.pack.on_error = BL_ON_ERROR_FAIL;
    ck_assert_int_eq(bl_packing_open(&packing, &s.request, &e), BL_OK);
    FAILS_WITH(bl_packing_table(packing, &e), BL_EFAIL, "(--on-error fail)");
    bl_packing_close(packing);
}
