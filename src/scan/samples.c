#include "scan/samples.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/archive.h"
#include "base/fs.h"
#include "base/text.h"
#include "kind/kinds.h"
#include "pool/pipeline.h"
#include "scan/tar_reader.h"

/* --- choice of members -------------------------------------------------------------------------------------------- */

/* Which members of samples are sequences, by their extensions: those that --member names, or those of one kind. */

struct member_choice {
    const struct bl_tar_members *members;
    const struct bl_kind **kind; /* [extensions]: of those that sequences have; NULL: the others */
    bool *kept;                  /* [extensions]: others will ask for them */
};

#define NAMED_MAX 8 /* extensions in a message */

/* Appends "mp4, webm": the extensions that sequences have, or all. */
static void member_choice_print(const struct member_choice *c, bool all, struct bl_buffer *out)
{
    int printed = 0;
    for (size_t x = 0; x < c->members->extensions; x++) {
        if (!all && !c->kind[x])
            continue;
        if (printed++ == NAMED_MAX)
            bl_buffer_text(out, "...");
        else if (printed <= NAMED_MAX)
            bl_buffer_printf(out, "%s%s", printed > 1 ? ", " : "", bl_tar_members_extension(c->members, x));
    }
    bl_buffer_text(out, printed ? "" : "nothing");
}

/* Sets an error that names the extensions. */
static int choice_refuse(const struct member_choice *c, const char *what, bool all, const char *advice,
                         struct bl_error *e)
{
    struct bl_buffer names = {0};
    member_choice_print(c, all, &names);
    int code = bl_buffer_check(&names, e);
    if (!code)
        code = bl_error_set(e, BL_EUSAGE, "%s (%s): %s", what, names.data, advice);
    bl_buffer_free(&names);
    return code;
}

/* The kind of an extension, or NULL. */
static int extension_find_kind(const char *extension, const struct bl_kind *wanted, const struct bl_kind **kind,
                               struct bl_error *e)
{
    struct bl_buffer name = {0};
    bl_buffer_printf(&name, "x.%s", extension);
    int code = bl_buffer_check(&name, e);
    if (!code && wanted)
        *kind = bl_kind_has_extension(wanted, name.data) ? wanted : NULL;
    else if (!code)
        *kind = bl_kind_find_by_file(name.data);
    bl_buffer_free(&name);
    return code;
}

/* Whether sequences are of the one kind rather than of the other: captions and labels are beside them. */
static bool kind_comes_before(const struct bl_kind *kind, const struct bl_kind *other)
{
    if (kind->is_fallback != other->is_fallback)
        return other->is_fallback;
    return kind->is_fallback && bl_kind_index(kind) < bl_kind_index(other);
}

static int choice_by_kind(struct member_choice *c, const struct bl_kind *wanted, struct bl_error *e)
{
    const size_t extensions = c->members->extensions;
    const struct bl_kind *first = NULL;
    bool several = false;
    for (size_t x = 0; x < extensions; x++) {
        BL_TRY(extension_find_kind(bl_tar_members_extension(c->members, x), wanted, &c->kind[x], e));
        if (c->kind[x] && (!first || kind_comes_before(c->kind[x], first)))
            first = c->kind[x];
    }
    for (size_t x = 0; x < extensions; x++) {
        if (c->kind[x] && kind_comes_before(first, c->kind[x]))
            c->kind[x] = NULL;
        several |= c->kind[x] && c->kind[x] != first;
    }
    if (several)
        return choice_refuse(c, "samples have members of several kinds", false,
                             "choose the sequences with --member EXTENSION", e);
    if (!first && extensions)
        return choice_refuse(c, "no member of the tars has a name of a known kind", true,
                             "choose the sequences with --member EXTENSION and --kind KIND (images alone are no "
                             "sequences: unpack folders of them, and --kind frames)",
                             e);
    return BL_OK;
}

static int choice_by_name(struct member_choice *c, const char *named, const struct bl_kind *wanted, struct bl_error *e)
{
    bool found = false;
    for (size_t x = 0; x < c->members->extensions; x++) {
        const char *extension = bl_tar_members_extension(c->members, x);
        if (!bl_text_list_has(named, extension))
            continue;
        found = true;
        c->kind[x] = wanted;
        BL_TRY(wanted ? BL_OK : extension_find_kind(extension, NULL, &c->kind[x], e));
        if (!c->kind[x])
            return bl_error_set(e, BL_EUSAGE, "--member %s: of which kind it is, --kind must say", extension);
    }
    if (found || !c->members->extensions)
        return BL_OK;
    struct bl_error what = {0};
    bl_error_set(&what, BL_EUSAGE, "--member %s: the tars have no such members", named);
    return choice_refuse(c, what.text, true, "name an extension that they have", e);
}

/* Chooses among the extensions of the members. named: those of sequences, with commas between, or NULL; wanted: the
 * kind of sequences, or NULL; kept: lists as named, or NULL. To be freed also after a failure.
 *
 * BL_EUSAGE: an extension that no member has, or of no known kind; members of several kinds; none of any. */
static int member_choice_make(struct member_choice *c, const struct bl_tar_members *members, const char *named,
                              const struct bl_kind *wanted, const struct bl_texts *kept, struct bl_error *e)
{
    *c = (struct member_choice){.members = members,
                                .kind = calloc(members->extensions + 1, sizeof *c->kind),
                                .kept = calloc(members->extensions + 1, sizeof *c->kept)};
    if (!c->kind || !c->kept)
        return bl_error_memory(e);
    for (int k = 0; kept && k < kept->count; k++) {
        for (size_t x = 0; x < members->extensions; x++)
            c->kept[x] |= bl_text_list_has(kept->text[k], bl_tar_members_extension(members, x));
    }
    return named ? choice_by_name(c, named, wanted, e) : choice_by_kind(c, wanted, e);
}

static void member_choice_free(struct member_choice *c)
{
    free(c->kind);
    free(c->kept);
    *c = (struct member_choice){0};
}

/* --- samples ------------------------------------------------------------------------------------------------------ */

/* The members of one tar. */
struct tar {
    const struct bl_file *file;
    size_t first, end;             /* among all entries */
    char *fault;                   /* why not all of it can be used; or NULL */
    struct bl_tar_members members; /* until they are among all */
    bool is_read;
};

struct sampling {
    const struct bl_samples_options *options;
    struct bl_tar_members members;
    struct tar *tar;
    size_t tars;
    size_t begun, taken;  /* tars that are being read, or have been; and those whose members are in members */
    const char *listings; /* the folder of those that tasks share; or NULL */
    struct member_choice choice;
    struct bl_file *file; /* the inputs that were listed */
    size_t files;
    struct bl_files *out; /* the inputs with the samples */
};

static const char *entry_name(const struct sampling *s, const struct bl_tar_entry *entry)
{
    return s->members.text.data + entry->name;
}

/* --- reading ----------------------------------------------------------------------------------------------------- */

/* On slow file systems, most of the time goes by waiting for one header after the other. Each task begins with a tar of
 * its own, so that those that start together list different ones. */
static int reading_produce(void *context, void **job, struct bl_error *e)
{
    struct sampling *s = context;
    const struct bl_sharing *sharing = s->options->sharing;
    size_t first = sharing ? (size_t)sharing->task * s->tars / (size_t)sharing->tasks : 0;
    (void)e;
    if (s->begun < s->tars)
        *job = &s->tar[(first + s->begun++) % s->tars];
    return BL_OK;
}

static int reading_work(void *context, void *worker, void *job, struct bl_error *e)
{
    const struct sampling *s = context;
    struct tar *tar = job;
    struct bl_error fault = {0};
    (void)worker;
    char *path = bl_path_join(s->options->base, tar->file->path);
    if (!path)
        return bl_error_memory(e);
    const struct bl_tar_source source = {path, tar->file->path, s->listings};
    int code = bl_tar_members_read(&tar->members, &source, s->options->cancel, &fault, e);
    if (!code && fault.code && !(tar->fault = strdup(fault.text)))
        code = bl_error_memory(e);
    free(path);
    return code;
}

/* Whatever tar was read first, members follow each other in the order of the tars. */
static int reading_consume(void *context, void *job, struct bl_error *e)
{
    struct sampling *s = context;
    int code = BL_OK;
    ((struct tar *)job)->is_read = true;
    for (; !code && s->taken < s->tars && s->tar[s->taken].is_read; s->taken++) {
        struct tar *tar = &s->tar[s->taken];
        tar->first = s->members.entries;
        code = bl_tar_members_append(&s->members, &tar->members, tar->file->path, e);
        tar->end = s->members.entries;
        bl_tar_members_free(&tar->members);
    }
    return code;
}

static void reading_discard(void *context, void *job)
{
    (void)context;
    (void)job; /* bl_samples_expand frees it */
}

static int samples_read(struct sampling *s, struct bl_error *e)
{
    static const struct bl_stages stages = {
        .produce = reading_produce, .work = reading_work, .consume = reading_consume, .discard = reading_discard};
    for (size_t i = 0; i < s->files; i++)
        s->tars += s->file[i].tar;
    if (!s->tars)
        return BL_OK;
    s->tar = calloc(s->tars, sizeof *s->tar);
    if (!s->tar)
        return bl_error_memory(e);
    size_t t = 0;
    for (size_t i = 0; i < s->files; i++) {
        if (s->file[i].tar)
            s->tar[t++].file = &s->file[i];
    }
    const int workers = s->options->workers;
    s->listings = s->options->sharing ? s->options->sharing->open(s->options->sharing->context) : NULL;
    return bl_pipeline_run(&stages, s, workers, 4 * workers, s->options->cancel, e);
}

/* --- samples ----------------------------------------------------------------------------------------------------- */

/* By key, then by what follows it, then by place. */
static int entry_compare_names(const void *a, const void *b, void *texts)
{
    const struct bl_tar_entry *x = a, *y = b;
    const char *one = (const char *)texts + x->name, *two = (const char *)texts + y->name;
    int order = memcmp(one, two, x->key < y->key ? x->key : y->key);
    if (!order)
        order = x->key < y->key ? -1 : x->key > y->key;
    if (!order)
        order = strcmp(one, two);
    return order ? order : x->begin < y->begin ? -1 : x->begin > y->begin;
}

/* Adds an input of the tar: a member, or without one the tar itself. name: what its id ends with, and the path of one
 * with a fault, which so has no extension that has a meaning. */
static int sample_add_file(const struct sampling *s, const struct tar *tar, const struct bl_tar_entry *entry,
                           const char *name, const struct bl_kind *kind, const char *fault, struct bl_error *e)
{
    struct bl_buffer path = {0}, id = {0};
    if (entry)
        bl_member_append(&path, tar->file->path, entry->begin, entry->bytes, fault ? name : entry_name(s, entry));
    else
        bl_buffer_text(&path, tar->file->path);
    bl_buffer_append(&id, tar->file->id, bl_path_stem(tar->file->id));
    if (entry)
        bl_buffer_printf(&id, "/%s", name);
    int code = path.failed || id.failed ? bl_error_memory(e) : BL_OK;
    if (!code)
        code = bl_files_add_named(s->out, path.data, id.data, kind, fault, e);
    if (!code) {
        s->out->file[s->out->count - 1].source = tar->file->source;
        s->out->file[s->out->count - 1].line = tar->file->line;
    }
    bl_buffer_free(&path);
    bl_buffer_free(&id);
    return code;
}

/* The same with the entry's key for a name. */
static int sample_add_key(const struct sampling *s, const struct tar *tar, const struct bl_tar_entry *entry,
                          const struct bl_kind *kind, const char *fault, struct bl_error *e)
{
    struct bl_buffer key = {0};
    bl_buffer_append(&key, entry_name(s, entry), entry->key);
    int code = bl_buffer_check(&key, e);
    if (!code)
        code = sample_add_file(s, tar, entry, key.data, kind, fault, e);
    bl_buffer_free(&key);
    return code;
}

/* A member that was made unusable: its id has its place, as another one may have its name. */
static int sample_add_fault(const struct sampling *s, const struct tar *tar, const struct bl_tar_entry *entry,
                            const char *fault, struct bl_error *e)
{
    struct bl_buffer name = {0};
    bl_buffer_printf(&name, "%s#%" PRId64, entry_name(s, entry), entry->begin);
    int code = bl_buffer_check(&name, e);
    if (!code)
        code = sample_add_file(s, tar, entry, name.data, NULL, fault, e);
    bl_buffer_free(&name);
    return code;
}

/* The sample has no sequence. */
static int sample_add_missing(const struct sampling *s, const struct tar *tar, const struct bl_tar_entry *entry,
                              struct bl_error *e)
{
    struct bl_buffer fault = {0};
    bl_buffer_text(&fault, "the sample has no member that is a sequence (");
    member_choice_print(&s->choice, false, &fault);
    bl_buffer_text(&fault, ")");
    int code = bl_buffer_check(&fault, e);
    if (!code)
        code = sample_add_key(s, tar, entry, NULL, fault.data, e);
    bl_buffer_free(&fault);
    return code;
}

static int sample_refuse(const struct sampling *s, const struct tar *tar, const struct bl_tar_entry *entry,
                         const struct bl_tar_entry *other, struct bl_error *e)
{
    return bl_error_set(e, BL_EUSAGE,
                        "%s: the sample %.*s has several members that can be the sequence (%s, %s): choose with "
                        "--member EXTENSION",
                        tar->file->path, (int)entry->key, entry_name(s, entry),
                        bl_tar_members_extension(&s->members, entry->extension),
                        bl_tar_members_extension(&s->members, other->extension));
}

/* Makes an input of the entries of one key. */
static int sample_take(const struct sampling *s, const struct tar *tar, const struct bl_tar_entry *entry, size_t count,
                       struct bl_error *e)
{
    const struct bl_tar_entry *chosen = NULL;
    int code = BL_OK;
    for (size_t i = 0; i < count && !code; i++) {
        const struct bl_tar_entry *this = &entry[i];
        if (i && this->extension == this[-1].extension) {
            code = sample_add_fault(s, tar, this, "a second member of this name: the first one is taken", e);
            continue;
        }
        if (s->choice.kept[this->extension])
            code = bl_member_index_add(&s->out->members, entry_name(s, this), this->begin, this->bytes, e);
        if (!code && s->choice.kind[this->extension] && chosen)
            code = sample_refuse(s, tar, chosen, this, e);
        chosen = s->choice.kind[this->extension] ? this : chosen;
    }
    if (code)
        return code;
    if (!chosen)
        return sample_add_missing(s, tar, entry, e);
    return sample_add_key(s, tar, chosen, s->choice.kind[chosen->extension], NULL, e);
}

/* Adds what is no part of a sample; the rest of the entries moves to the front. */
static int tar_take_strays(const struct sampling *s, struct tar *tar, struct bl_error *e)
{
    size_t kept = tar->first;
    int code = BL_OK;
    for (size_t i = tar->first; i < tar->end && !code; i++) {
        const struct bl_tar_entry *entry = &s->members.entry[i];
        if (entry->unusable)
            code = sample_add_fault(s, tar, entry, s->members.text.data + entry->unusable, e);
        else if (!entry->key)
            bl_files_ignore(s->out, bl_path_name(entry_name(s, entry)), 1);
        else
            s->members.entry[kept++] = *entry;
    }
    tar->end = code ? tar->end : kept;
    return code;
}

static int tar_take(const struct sampling *s, struct tar *tar, struct bl_error *e)
{
    int code = bl_member_index_add_tar(&s->out->members, tar->file->path, e);
    if (!code && tar->fault)
        code = sample_add_file(s, tar, NULL, NULL, NULL, tar->fault, e);
    else if (!code && tar->first == tar->end)
        code = sample_add_file(s, tar, NULL, NULL, NULL, "an empty tar", e);
    if (!code)
        code = tar_take_strays(s, tar, e);
    if (code || tar->first == tar->end)
        return code;
    struct bl_tar_entry *entry = s->members.entry;
    qsort_r(entry + tar->first, tar->end - tar->first, sizeof *entry, entry_compare_names, s->members.text.data);
    for (size_t i = tar->first, next; i < tar->end && !code; i = next) {
        for (next = i + 1; next < tar->end && entry[next].key == entry[i].key; next++) {
            if (memcmp(entry_name(s, &entry[next]), entry_name(s, &entry[i]), entry[i].key) != 0)
                break;
        }
        code = sample_take(s, tar, &entry[i], next - i, e);
    }
    return code;
}

/* Counts the members that nothing asked for. */
static void samples_ignore_rest(const struct sampling *s)
{
    struct bl_buffer name = {0};
    for (size_t x = 0; x < s->members.extensions; x++) {
        bl_buffer_clear(&name);
        bl_buffer_printf(&name, "x.%s", bl_tar_members_extension(&s->members, x));
        if (!s->choice.kind[x] && !s->choice.kept[x] && name.data)
            bl_files_ignore(s->out, name.data, s->members.extension[x].members);
    }
    bl_buffer_free(&name);
}

/* --- all of it ---------------------------------------------------------------------------------------------------- */

static int samples_take(struct sampling *s, struct bl_error *e)
{
    int code = BL_OK;
    size_t t = 0;
    for (size_t i = 0; i < s->files && !code; i++) {
        if (s->file[i].tar) {
            code = tar_take(s, &s->tar[t++], e);
            continue;
        }
        code = BL_ARRAY_RESERVE(s->out->file, s->out->capacity, s->out->count + 1, e);
        if (!code) {
            s->out->file[s->out->count++] = s->file[i];
            s->file[i].path = NULL; /* it has moved */
        }
    }
    if (!code)
        samples_ignore_rest(s);
    return code;
}

int bl_samples_expand(struct bl_files *files, const struct bl_samples_options *options, struct bl_error *e)
{
    struct sampling s = {.options = options, .file = files->file, .files = files->count, .out = files};
    int code = samples_read(&s, e);
    if (!code && !s.tars && options->member)
        code = bl_error_set(e, BL_EUSAGE, "--member chooses members of tars, and no input is one");
    if (code || !s.tars)
        goto out;
    code = member_choice_make(&s.choice, &s.members, options->member, options->kind, options->kept, e);
    if (code)
        goto out;
    files->tars = (int64_t)s.tars;
    files->file = NULL;
    files->count = files->capacity = 0;
    code = samples_take(&s, e);
    for (size_t i = 0; i < s.files; i++)
        free(s.file[i].path);
    free(s.file);
out:
    for (size_t t = 0; t < s.tars && s.tar; t++) {
        bl_tar_members_free(&s.tar[t].members);
        free(s.tar[t].fault);
    }
    free(s.tar);
    member_choice_free(&s.choice);
    bl_tar_members_free(&s.members);
    return code;
}
