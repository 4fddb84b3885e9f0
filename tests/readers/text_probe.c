/* The parts of text, one by one, for the tests that hold them against released packages.
 *
 *     text_probe MODE [ARGUMENT...] < records > records
 *
 * A record is its size, four bytes little-endian, and so many bytes. For every record that comes in one goes out:
 *
 *     utf8                   the number of replacements and a space, then the text made valid
 *     nfc, nfd, nfkc, nfkd   the length of what was found to be in the form and a space, then the text in the form
 *     split BEHAVIOR INVERT PATTERN    the ends of the pieces, separated by spaces ("3-5"); INVERT is 0 or 1
 *     literal BEHAVIOR INVERT TEXT     the same for a pattern that is the text itself
 *     grammar PATTERNS       the ends of the words of the known grammar that has these patterns, one after the other,
 * with U+001F between them; "digits" and "digit runs" are the pre-tokenizer Digits bert FLAGS             the
 * normalised text; FLAGS is clean_text, handle_chinese_chars, strip_accents, lowercase: 1011 bertsplit              the
 * ends of the words wordpiece VOCAB FLAGS  ids of a vocab.txt, four bytes each, of the text normalised and split
 *
 * Exit status as the tool's. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "base/text.h"
#include "kind/text/grammar.h"
#include "kind/text/normal_form.h"
#include "kind/text/pre_tokenizer.h"
#include "kind/text/regex.h"
#include "kind/text/wordpiece.h"

struct mode;

struct probe {
    const struct mode *mode;
    char **argument;
    struct bl_regex *regex;
    struct bl_matcher *matcher;
    enum bl_behavior behavior;
    enum bl_grammar grammar;
    struct bl_spans spans;
    struct bl_bert_options bert;
    struct bl_buffer normal, scratch;
    struct bl_vocabulary vocabulary;
    struct bl_wordpiece wordpiece;
    struct bl_ids ids;
};

struct mode {
    const char *name;
    int arguments;
    int number;                                           /* the mode's own */
    int (*open)(struct probe *probe, struct bl_error *e); /* or NULL */
    int (*run)(struct probe *probe, const char *text, size_t size, struct bl_buffer *out, struct bl_error *e);
    void (*close)(struct probe *probe); /* or NULL */
};

static int utf8_run(struct probe *probe, const char *text, size_t size, struct bl_buffer *out, struct bl_error *e)
{
    (void)probe;
    int64_t replaced = 0;
    struct bl_buffer valid = {0};
    if (bl_text_replace_invalid(text, size, &valid, &replaced))
        bl_buffer_check(&valid, e);
    bl_buffer_printf(out, "%" PRId64 " ", replaced);
    bl_buffer_append(out, valid.data, valid.size);
    bl_buffer_free(&valid);
    return e->code;
}

static int normal_run(struct probe *probe, const char *text, size_t size, struct bl_buffer *out, struct bl_error *e)
{
    enum bl_normal_form form = (enum bl_normal_form)probe->mode->number;
    bl_buffer_printf(out, "%zu ", bl_normal_form_prefix(form, text, size));
    return bl_normal_form_apply(form, text, size, out) ? bl_error_memory(e) : 0;
}

static int split_open(struct probe *probe, struct bl_error *e)
{
    const char *pattern = probe->argument[2];
    int rc = bl_behavior_parse(probe->argument[0], &probe->behavior, e);
    if (!rc)
        rc = bl_regex_open(&probe->regex, pattern, strlen(pattern), probe->mode->number, e);
    return rc ? rc : bl_matcher_open(&probe->matcher, e);
}

static void spans_write(const struct bl_spans *spans, struct bl_buffer *out)
{
    for (size_t i = 0; i < spans->count; i++)
        bl_buffer_printf(out, "%s%zu-%zu", i ? " " : "", spans->span[i].begin, spans->span[i].end);
}

static int split_run(struct probe *probe, const char *text, size_t size, struct bl_buffer *out, struct bl_error *e)
{
    probe->spans.count = 0;
    int rc = bl_regex_split(probe->regex, probe->matcher, probe->behavior, *probe->argument[1] == '1', text, size,
                            &probe->spans, e);
    spans_write(&probe->spans, out);
    return rc;
}

static void split_close(struct probe *probe)
{
    bl_regex_close(probe->regex);
    bl_matcher_close(probe->matcher);
    bl_spans_free(&probe->spans);
}

/* The grammar of one pattern. */
static enum bl_grammar grammar_named(const char *pattern, size_t size)
{
    if (!strcmp(pattern, "digits"))
        return BL_GRAMMAR_DIGITS;
    return strcmp(pattern, "digit runs") ? bl_grammar_find(pattern, size, true) : BL_GRAMMAR_DIGIT_RUNS;
}

static int grammar_open(struct probe *probe, struct bl_error *e)
{
    const char *pattern = probe->argument[0];
    for (bool first = true; pattern; first = false) {
        size_t size = strcspn(pattern, "\x1f");
        enum bl_grammar next = grammar_named(pattern, size);
        probe->grammar = first ? next : bl_grammar_join(probe->grammar, next);
        pattern = pattern[size] ? pattern + size + 1 : NULL;
    }
    return probe->grammar ? 0 : bl_error_set(e, BL_EUSAGE, "no known grammar");
}

static int grammar_run(struct probe *probe, const char *text, size_t size, struct bl_buffer *out, struct bl_error *e)
{
    size_t end[100], from = 0;
    int rc = 0;
    probe->spans.count = 0;
    for (size_t at = 0; at < size && !rc;) {
        size_t n = bl_grammar_split(probe->grammar, (const uint8_t *)text, size, &at, end, sizeof end / sizeof *end);
        for (size_t i = 0; i < n && !rc; from = end[i++])
            rc = bl_spans_add(&probe->spans, from, end[i], e);
    }
    spans_write(&probe->spans, out);
    return rc;
}

static int bert_open(struct probe *probe, struct bl_error *e)
{
    const char *flags = probe->argument[probe->mode->arguments - 1];
    if (strlen(flags) != 4)
        return bl_error_set(e, BL_EUSAGE, "wanted are four flags");
    probe->bert = (struct bl_bert_options){flags[0] == '1', flags[1] == '1', flags[2] == '1', flags[3] == '1'};
    return 0;
}

static int bert_run(struct probe *probe, const char *text, size_t size, struct bl_buffer *out, struct bl_error *e)
{
    return bl_bert_normalize(&probe->bert, text, size, out, e);
}

static int bertsplit_run(struct probe *probe, const char *text, size_t size, struct bl_buffer *out, struct bl_error *e)
{
    probe->spans.count = 0;
    int rc = bl_bert_split(text, size, &probe->spans, e);
    spans_write(&probe->spans, out);
    return rc;
}

static int wordpiece_open(struct probe *probe, struct bl_error *e)
{
    const char *path = probe->argument[0];
    struct bl_buffer text = {0};
    int rc = bert_open(probe, e);
    if (!rc)
        rc = bl_io_read_file(path, 1 << 28, &text, e);
    if (!rc)
        rc = bl_wordpiece_vocabulary(&probe->vocabulary, &text, path, e);
    if (!rc)
        rc = bl_wordpiece_init(&probe->wordpiece, &probe->vocabulary, "[UNK]", BL_WORDPIECE_PREFIX,
                               BL_WORDPIECE_CHARACTERS, e);
    if (!rc && bl_wordpiece_uncased(&probe->vocabulary) != probe->bert.lowercase)
        rc = bl_error_set(e, BL_EFAIL, "the vocabulary's case is not that of the flags");
    bl_buffer_free(&text);
    return rc;
}

static int wordpiece_run(struct probe *probe, const char *text, size_t size, struct bl_buffer *out, struct bl_error *e)
{
    bl_buffer_clear(&probe->normal);
    probe->spans.count = probe->ids.count = 0;
    int rc = bl_bert_normalize(&probe->bert, text, size, &probe->normal, e);
    if (!rc)
        rc = bl_bert_split(probe->normal.data, probe->normal.size, &probe->spans, e);
    for (size_t i = 0; i < probe->spans.count && !rc; i++) {
        struct bl_span word = probe->spans.span[i];
        rc = bl_wordpiece_encode(&probe->wordpiece, &probe->scratch, (uint8_t *)probe->normal.data + word.begin,
                                 word.end - word.begin, &probe->ids, e);
    }
    bl_buffer_append(out, probe->ids.id, probe->ids.count * sizeof *probe->ids.id);
    return rc;
}

static void wordpiece_close(struct probe *probe)
{
    bl_spans_free(&probe->spans);
    bl_buffer_free(&probe->normal);
    bl_buffer_free(&probe->scratch);
    bl_vocabulary_free(&probe->vocabulary);
    bl_ids_free(&probe->ids);
}

static const struct mode modes[] = {
    {"utf8", 0, 0, NULL, utf8_run, NULL},
    {"nfc", 0, BL_NFC, NULL, normal_run, NULL},
    {"nfc16", 0, BL_NFC_16, NULL, normal_run, NULL},
    {"nfd", 0, BL_NFD, NULL, normal_run, NULL},
    {"nfkc", 0, BL_NFKC, NULL, normal_run, NULL},
    {"nfkd", 0, BL_NFKD, NULL, normal_run, NULL},
    {"split", 3, 0, split_open, split_run, split_close},
    {"literal", 3, 1, split_open, split_run, split_close},
    {"grammar", 1, 0, grammar_open, grammar_run, split_close},
    {"bert", 1, 0, bert_open, bert_run, NULL},
    {"bertsplit", 0, 0, NULL, bertsplit_run, split_close},
    {"wordpiece", 2, 0, wordpiece_open, wordpiece_run, wordpiece_close},
};

/* Reads one record: 1, or 0 at the end. */
static int record_read(struct bl_buffer *in, struct bl_error *e)
{
    uint32_t size;
    size_t got = fread(&size, 1, sizeof size, stdin);
    if (!got && feof(stdin))
        return 0;
    bl_buffer_clear(in);
    if (got != sizeof size || !bl_buffer_reserve(in, size))
        return bl_error_set(e, BL_EFAIL, "cannot read a record");
    in->size = fread(in->data, 1, size, stdin);
    return in->size == size ? 1 : bl_error_set(e, BL_EFAIL, "a record ends early");
}

static int record_write(const struct bl_buffer *out, struct bl_error *e)
{
    uint32_t size = (uint32_t)out->size;
    if (bl_buffer_check(out, e))
        return BL_EFAIL;
    if (fwrite(&size, 1, sizeof size, stdout) != sizeof size || fwrite(out->data, 1, out->size, stdout) != out->size)
        return bl_error_errno(e, BL_EFAIL, "cannot write");
    return 0;
}

static int records_run(const struct mode *mode, struct probe *probe, struct bl_error *e)
{
    struct bl_buffer in = {0}, out = {0};
    int rc;
    while ((rc = record_read(&in, e)) > 0) {
        bl_buffer_clear(&out);
        rc = mode->run(probe, in.data, in.size, &out, e);
        if (!rc)
            rc = record_write(&out, e);
        if (rc)
            break;
    }
    bl_buffer_free(&in);
    bl_buffer_free(&out);
    return rc;
}

static const struct mode *mode_find(int argc, char **argv)
{
    for (size_t i = 0; argc > 1 && i < sizeof modes / sizeof *modes; i++) {
        if (!strcmp(modes[i].name, argv[1]) && argc - 2 == modes[i].arguments)
            return &modes[i];
    }
    return NULL;
}

int main(int argc, char **argv)
{
    struct bl_error e = {0};
    const struct mode *mode = mode_find(argc, argv);
    struct probe probe = {.mode = mode, .argument = argv + 2};
    int rc = mode ? 0 : bl_error_set(&e, BL_EUSAGE, "no such mode with so many arguments");
    if (!rc && mode->open)
        rc = mode->open(&probe, &e);
    if (!rc)
        rc = records_run(mode, &probe, &e);
    if (mode && mode->close)
        mode->close(&probe);
    if (!rc && fflush(stdout))
        rc = bl_error_errno(&e, BL_EFAIL, "cannot write");
    if (rc)
        fprintf(stderr, "text_probe: %s\n", e.text);
    return -rc;
}
