/* Lists the members of all tars and groups them into samples.
 *
 * The headers of several tars are read at once, into a struct tar each, and joined in the order of the tars. Then the
 * extensions of all members are known, so that the kind of the sequences can be chosen, and each sample becomes an
 * input: of "shard.tar" with a.mp4, a.json and b.mp4, the inputs shard/a and shard/b. */
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

/* The choice of the members that are sequences, by their extensions: those of --member, or those of one kind. */

struct member_choice {
    const struct bl_tar_members *members;
    const struct bl_kind **kind; /* [extensions]: of those that sequences have; NULL: the others */
    bool *kept;                  /* [extensions]: others will ask for them */
};

#define NAMED_MAX 8 /* extensions in a message */

/* Appends "mp4, webm": the extensions of sequences, or all of them. */
static void member_choice_print(const struct member_choice *c, bool all, struct bl_buffer *out)
{
    /* The message has at most NAMED_MAX names and then "...". */
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

/* Sets an error that names extensions: BL_EUSAGE with "WHAT (mp4, json): ADVICE". */
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

/* Sets *kind to the kind of an extension. If a kind is wanted, it is that kind or NULL. */
static int extension_find_kind(const char *extension, const struct bl_kind *wanted, const struct bl_kind **kind,
                               struct bl_error *e)
{
    struct bl_buffer name = {0};
    /* The kinds look at names, so the extension gets one. */
    bl_buffer_printf(&name, "x.%s", extension);
    int code = bl_buffer_check(&name, e);
    if (!code && wanted)
        *kind = bl_kind_has_extension(wanted, name.data) ? wanted : NULL;
    else if (!code)
        *kind = bl_kind_find_by_file(name.data);
    bl_buffer_free(&name);
    return code;
}

/* Returns whether sequences are of the one kind rather than of the other. Captions and labels, of fallback kinds,
 * lie beside videos and are not the sequences. */
static bool kind_comes_before(const struct bl_kind *kind, const struct bl_kind *other)
{
    /* A kind that is no fallback comes first. */
    if (kind->is_fallback != other->is_fallback)
        return other->is_fallback;
    /* Among fallback kinds, the order of the table of kinds decides. */
    return kind->is_fallback && bl_kind_index(kind) < bl_kind_index(other);
}

/* Chooses the members of one kind: of `wanted`, or of the kind that comes before the others. BL_EUSAGE: several
 * kinds, or none. */
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
        /* Kinds behind the first one are no sequences; kinds that tie are an error. */
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

/* Chooses the members whose extensions the list `named` has. BL_EUSAGE: no member has one, or the kind is unknown. */
static int choice_by_name(struct member_choice *c, const char *named, const struct bl_kind *wanted, struct bl_error *e)
{
    bool found = false;
    for (size_t x = 0; x < c->members->extensions; x++) {
        const char *extension = bl_tar_members_extension(c->members, x);
        if (!bl_text_list_has(named, extension))
            continue;
        found = true;
        /* The kind of the user applies to all named extensions. */
        c->kind[x] = wanted;
        BL_TRY(wanted ? BL_OK : extension_find_kind(extension, NULL, &c->kind[x], e));
        if (!c->kind[x])
            return bl_error_set(e, BL_EUSAGE,
                                "--member %s: the kind of these files is not known: choose it with --kind", extension);
    }
    if (found || !c->members->extensions)
        return BL_OK;
    struct bl_error what = {0};
    bl_error_set(&what, BL_EUSAGE, "--member %s: the tars have no such members", named);
    return choice_refuse(c, what.text, true, "name an extension that they have", e);
}

/* --- samples ------------------------------------------------------------------------------------------------------ */

/* A tar among the inputs, and its range of entries in the members of all tars. */
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

/* Returns the name of a member, valid until members are added. */
static const char *entry_name(const struct sampling *s, const struct bl_tar_entry *entry)
{
    return s->members.text.data + entry->name;
}

/* --- reading ----------------------------------------------------------------------------------------------------- */

/* Gives the next tar (a stage of the pipeline). On slow file systems, most of the time is spent waiting for one
 * header after the other. Tasks that start together begin with different tars, so that they write listings for each
 * other. */
static int reading_produce(void *context, void **job, struct bl_error *e)
{
    struct sampling *s = context;
    const struct bl_sharing *sharing = s->options->sharing;
    /* The tars are divided among the tasks like the positions on a ring. */
    size_t first = sharing ? (size_t)sharing->task * s->tars / (size_t)sharing->tasks : 0;
    (void)e;
    if (s->begun < s->tars)
        *job = &s->tar[(first + s->begun++) % s->tars];
    return BL_OK;
}

/* Reads the headers of one tar. A fault of the tar is kept with it; a failure of the system is an error. */
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
    /* The fault is a copy, owned by the tar. */
    if (!code && fault.code && !(tar->fault = strdup(fault.text)))
        code = bl_error_memory(e);
    free(path);
    return code;
}

/* Appends the members in the order of the tars, whichever tar was read first: the order decides ids and numbers. */
static int reading_consume(void *context, void *job, struct bl_error *e)
{
    struct sampling *s = context;
    ((struct tar *)job)->is_read = true;
    for (; s->taken < s->tars && s->tar[s->taken].is_read; s->taken++) {
        struct tar *tar = &s->tar[s->taken];
        tar->first = s->members.entries;
        /* The members are appended as a range of entries. */
        int code = bl_tar_members_append(&s->members, &tar->members, tar->file->path, e);
        tar->end = s->members.entries;
        bl_tar_members_free(&tar->members);
        if (code)
            return code;
    }
    return BL_OK;
}

/* Reads the headers of all tars among the files. The jobs stay those of bl_samples_expand, which frees them. */
static int samples_read(struct sampling *s, struct bl_error *e)
{
    static const struct bl_stages stages = {
        .produce = reading_produce, .work = reading_work, .consume = reading_consume};
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

/* Orders members by key, then by extension, then by place, so that those of a sample follow each other. texts: the
 * buffer with the names. */
static int entry_compare_names(const void *a, const void *b, void *texts)
{
    const struct bl_tar_entry *x = a, *y = b;
    const char *one = (const char *)texts + x->name, *two = (const char *)texts + y->name;
    /* Keys of different lengths differ, even if one begins with the other. */
    int order = memcmp(one, two, x->key < y->key ? x->key : y->key);
    if (!order)
        order = x->key < y->key ? -1 : x->key > y->key;
    if (!order)
        order = strcmp(one, two);
    return order ? order : x->begin < y->begin ? -1 : x->begin > y->begin;
}

/* Adds an input of the tar: a member, or the tar itself if entry is NULL. name: the end of the id. An input with a
 * fault has it as its path, too, so that its extension has no meaning. */
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

/* Adds an input whose name is the key of the entry. */
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

/* Adds a member that cannot be used. Its id has its place in the tar, as another member may have the same name. */
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

/* Makes an input of the entries of one key, which are sorted by extension. A sample without a sequence becomes an
 * input with a fault. BL_EUSAGE: several members can be the sequence. */
static int sample_take(const struct sampling *s, const struct tar *tar, const struct bl_tar_entry *entry, size_t count,
                       struct bl_error *e)
{
    const struct bl_tar_entry *chosen = NULL;
    for (size_t i = 0; i < count; i++) {
        const struct bl_tar_entry *this = &entry[i];
        /* Two members of one name have the same extension: the first one in the tar counts. */
        if (i && this->extension == this[-1].extension) {
            BL_TRY(sample_add_fault(s, tar, this, "a second member of this name: the first one is taken", e));
            continue;
        }
        if (s->choice.kept[this->extension])
            BL_TRY(bl_member_index_add(&s->out->members, entry_name(s, this), this->begin, this->bytes, e));
        if (s->choice.kind[this->extension] && chosen)
            return bl_error_set(
                e, BL_EUSAGE,
                "%s: the sample %.*s has several members that can be the sequence (%s, %s): choose with "
                "--member EXTENSION",
                tar->file->path, (int)chosen->key, entry_name(s, chosen),
                bl_tar_members_extension(&s->members, chosen->extension),
                bl_tar_members_extension(&s->members, this->extension));
        chosen = s->choice.kind[this->extension] ? this : chosen;
    }
    if (chosen)
        return sample_add_key(s, tar, chosen, s->choice.kind[chosen->extension], NULL, e);
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

/* Makes inputs of the members of a tar: first of members that belong to no sample, then of each sample. */
static int tar_take(const struct sampling *s, struct tar *tar, struct bl_error *e)
{
    struct bl_tar_entry *entry = s->members.entry;
    size_t end = tar->first; /* entries of samples move to the front */
    BL_TRY(bl_member_index_add_tar(&s->out->members, tar->file->path, e));
    /* A damaged tar is an input with a fault, so that the table shows it. */
    if (tar->fault || tar->first == tar->end)
        BL_TRY(sample_add_file(s, tar, NULL, NULL, NULL, tar->fault ? tar->fault : "an empty tar", e));
    for (size_t i = tar->first; i < tar->end; i++) {
        if (entry[i].unusable)
            BL_TRY(sample_add_fault(s, tar, &entry[i], s->members.text.data + entry[i].unusable, e));
        else if (!entry[i].key)
            bl_files_ignore(s->out, bl_path_name(entry_name(s, &entry[i])), 1);
        else
            entry[end++] = entry[i];
    }
    tar->end = end;
    if (tar->first == end)
        return BL_OK;
    qsort_r(entry + tar->first, end - tar->first, sizeof *entry, entry_compare_names, s->members.text.data);
    for (size_t i = tar->first, next; i < end; i = next) {
        for (next = i + 1; next < end && entry[next].key == entry[i].key; next++) {
            if (memcmp(entry_name(s, &entry[next]), entry_name(s, &entry[i]), entry[i].key) != 0)
                break;
        }
        BL_TRY(sample_take(s, tar, &entry[i], next - i, e));
    }
    return BL_OK;
}

/* Fills s->out: other inputs move there, and the samples of a tar take its place. Members that no option needs count
 * as ignored files. */
static int samples_take(struct sampling *s, struct bl_error *e)
{
    size_t t = 0;
    for (size_t i = 0; i < s->files; i++) {
        if (s->file[i].tar) {
            BL_TRY(tar_take(s, &s->tar[t++], e));
            continue;
        }
        BL_TRY(BL_ARRAY_RESERVE(s->out->file, s->out->capacity, s->out->count + 1, e));
        s->out->file[s->out->count++] = s->file[i];
        s->file[i].path = NULL; /* it has moved */
    }
    struct bl_buffer name = {0};
    for (size_t x = 0; x < s->members.extensions; x++) {
        bl_buffer_clear(&name);
        bl_buffer_printf(&name, "x.%s", bl_tar_members_extension(&s->members, x));
        /* The whole extension is counted at once. */
        if (!s->choice.kind[x] && !s->choice.kept[x] && name.data)
            bl_files_ignore(s->out, name.data, s->members.extension[x].members);
    }
    bl_buffer_free(&name);
    return BL_OK;
}

/* Replaces the tars in files by their samples. The array of files changes owner only after the choice has succeeded,
 * so that an error leaves it with the caller. */
int bl_samples_expand(struct bl_files *files, const struct bl_samples_options *options, struct bl_error *e)
{
    struct sampling s = {.options = options, .file = files->file, .files = files->count, .out = files};
    struct member_choice *choice = &s.choice;
    const struct bl_texts *kept = options->kept;
    int code = samples_read(&s, e);
    if (!code && !s.tars && options->member)
        code = bl_error_set(e, BL_EUSAGE, "--member chooses members of tars, and no input is one");
    if (code || !s.tars)
        goto out;
    *choice = (struct member_choice){.members = &s.members,
                                     .kind = calloc(s.members.extensions + 1, sizeof *choice->kind),
                                     .kept = calloc(s.members.extensions + 1, sizeof *choice->kept)};
    code = choice->kind && choice->kept ? BL_OK : bl_error_memory(e);
    for (int k = 0; kept && k < kept->count && !code; k++) {
        for (size_t x = 0; x < s.members.extensions; x++)
            choice->kept[x] |= bl_text_list_has(kept->text[k], bl_tar_members_extension(&s.members, x));
    }
    if (!code)
        code = options->member ? choice_by_name(choice, options->member, options->kind, e)
                               : choice_by_kind(choice, options->kind, e);
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
    free(choice->kind);
    free(choice->kept);
    bl_tar_members_free(&s.members);
    return code;
}
