#include "scan/samples.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/archive.h"
#include "base/checksum.h"
#include "base/fs.h"
#include "base/input_file.h"
#include "base/io.h"
#include "base/output.h"
#include "base/text.h"
#include "run/pipeline.h"
#include "scan/member_attributes.h"

/* --- members of tars ---------------------------------------------------------------------------------------------- */

#define EXTENSIONS_MAX 4096 /* samples have a few; keys with dots make one each */

static int members_add_text(struct bl_tar_members *m, const char *text, size_t *at, struct bl_error *e)
{
    *at = m->text.size;
    bl_buffer_append(&m->text, text, strlen(text) + 1);
    return bl_buffer_check(&m->text, e);
}

/* Counts so many members of the extension, and sets its number. */
static int members_add_extension(struct bl_tar_members *m, const char *text, int64_t members, const char *shown,
                                 uint32_t *number, struct bl_error *e)
{
    const uint64_t hash = XXH3_64bits(text, strlen(text));
    size_t there;
    for (struct bl_hash_probe probe = bl_hash_begin(&m->by_text, hash); bl_hash_next(&m->by_text, &probe, &there);) {
        if (strcmp(bl_tar_members_extension(m, there), text) == 0) {
            m->extension[there].members += members;
            *number = (uint32_t)there;
            return BL_OK;
        }
    }
    if (m->extensions == EXTENSIONS_MAX)
        return bl_error_set(
            e, BL_EUSAGE,
            "%s: more than %d endings of names, such as \"%s\": the key of a sample ends at the first dot, "
            "so that keys must not have dots",
            shown, EXTENSIONS_MAX, text);
    int code = BL_ARRAY_RESERVE(m->extension, m->extension_capacity, m->extensions + 1, e);
    if (!code)
        code = bl_hash_add(&m->by_text, hash, m->extensions, e);
    if (code)
        return code;
    *number = (uint32_t)m->extensions;
    struct bl_extension *extension = &m->extension[m->extensions++];
    extension->members = members;
    return members_add_text(m, text, &extension->text, e);
}

/* Adds a member. BL_EUSAGE: the members have too many extensions. */
static int bl_tar_members_add(struct bl_tar_members *m, const struct bl_tar_member *member, const char *shown,
                              struct bl_error *e)
{
    int code = BL_ARRAY_RESERVE(m->entry, m->entry_capacity, m->entries + 1, e);
    if (code)
        return code;
    struct bl_tar_entry *entry = &m->entry[m->entries++];
    *entry = (struct bl_tar_entry){
        .begin = member->begin, .bytes = member->bytes, .key = (uint32_t)bl_member_key(member->name)};
    code = members_add_text(m, member->name, &entry->name, e);
    if (!code && member->unusable)
        code = members_add_text(m, member->unusable, &entry->unusable, e);
    else if (!code && entry->key)
        code = members_add_extension(m, member->name + entry->key + 1, 1, shown, &entry->extension, e);
    return code;
}

static int members_read_headers(struct bl_tar_members *m, const struct bl_input_file *file,
                                const struct bl_tar_source *source, const struct bl_cancel *cancel,
                                struct bl_error *fault)
{
    struct bl_tar_reader reader = {.fd = file->fd, .bytes = file->status.st_size, .path = source->path};
    bool found = true;
    int code = BL_OK;
    while (!code && found) {
        struct bl_tar_member member;
        code = bl_cancelled(cancel) ? BL_ECANCEL : bl_tar_reader_next(&reader, &member, &found, fault);
        if (!code && found)
            code = bl_tar_members_add(m, &member, source->shown, fault);
    }
    bl_tar_reader_free(&reader);
    return code;
}

/* Sets the members of a tar; m is empty. *fault: why not all of it can be used, of which the text stays empty
 * otherwise: it is damaged, or cannot be opened. BL_EUSAGE: its members have no common extensions; BL_EFAIL: the system
 * fails. BL_ECANCEL. */
static int bl_tar_members_read(struct bl_tar_members *m, const struct bl_tar_source *source,
                               const struct bl_cancel *cancel, struct bl_error *fault, struct bl_error *e)
{
    struct bl_input_file file;
    int code = BL_OK;
    if (bl_input_file_open(&file, source->path) != 0) {
        if (bl_errno_is_system(errno))
            return bl_error_errno(e, BL_EFAIL, "cannot open %s", source->path);
        bl_error_errno(fault, BL_EDATA, "cannot be opened");
        return BL_OK;
    }
    if (!S_ISREG(file.status.st_mode)) {
        bl_error_set(fault, BL_EDATA, "not a regular file");
        goto out;
    }
    if (source->listings && bl_tar_listing_find(m, source, &file.status, fault))
        goto out;
    code = members_read_headers(m, &file, source, cancel, fault);
    if (code && code != BL_EDATA)
        code = bl_error_set(e, code, "%s", fault->text);
    else
        code = source->listings ? bl_tar_listing_write(m, source, &file.status, fault, e) : BL_OK;
out:
    bl_input_file_close(&file);
    return code;
}

const char *bl_tar_members_extension(const struct bl_tar_members *m, size_t number)
{
    return m->text.data + m->extension[number].text;
}

int bl_tar_members_append(struct bl_tar_members *m, const struct bl_tar_members *other, const char *shown,
                          struct bl_error *e)
{
    uint32_t *number = calloc(other->extensions + 1, sizeof *number);
    int code =
        number ? BL_ARRAY_RESERVE(m->entry, m->entry_capacity, m->entries + other->entries + 1, e) : bl_error_memory(e);
    for (size_t x = 0; x < other->extensions && !code; x++)
        code = members_add_extension(m, bl_tar_members_extension(other, x), other->extension[x].members, shown,
                                     &number[x], e);
    if (code)
        goto out;
    const size_t base = m->text.size;
    if (other->text.size)
        bl_buffer_append(&m->text, other->text.data, other->text.size);
    code = bl_buffer_check(&m->text, e);
    for (size_t i = 0; i < other->entries && !code; i++) {
        struct bl_tar_entry *entry = &m->entry[m->entries++];
        *entry = other->entry[i];
        entry->name += base;
        entry->unusable += entry->unusable ? base : 0;
        entry->extension = number[entry->extension];
    }
out:
    free(number);
    return code;
}

void bl_tar_members_free(struct bl_tar_members *m)
{
    bl_buffer_free(&m->text);
    free(m->entry);
    free(m->extension);
    bl_hash_free(&m->by_text);
    *m = (struct bl_tar_members){0};
}

/* --- listings of tars --------------------------------------------------------------------------------------------- */

#define LISTING_MAX ((size_t)1 << 31) /* bytes */

static int listing_path(const struct bl_tar_source *source, struct bl_buffer *path, struct bl_error *e)
{
    char digest[BL_DIGEST_SIZE];
    bl_checksum_format(bl_checksum(source->shown, strlen(source->shown)), digest);
    bl_buffer_printf(path, "%s/tar-%s", source->listings, digest);
    return bl_buffer_check(path, e);
}

/* The first line, and the word that begins the second one. */
static void listing_format_head(const struct bl_tar_source *source, const struct stat *status, struct bl_buffer *out)
{
    bl_buffer_printf(out, "bload tar 1: %" PRId64 " %" PRId64 ".%09ld ", (int64_t)status->st_size,
                     (int64_t)status->st_mtim.tv_sec, status->st_mtim.tv_nsec);
    bl_text_escape(out, source->shown, strlen(source->shown));
    bl_buffer_text(out, "\nfault ");
}

/* --- reading ----------------------------------------------------------------------------------------------------- */

/* Decodes a text in place. */
static bool text_decode(char *text)
{
    int64_t size = bl_text_unescape(text, strlen(text));
    if (size < 0 || memchr(text, '\0', (size_t)size))
        return false;
    text[size] = '\0';
    return true;
}

/* Ends the text at the first such byte, and returns what follows it; NULL: there is none. */
static char *text_split(char *text, char byte)
{
    char *end = strchr(text, byte);
    if (!end)
        return NULL;
    *end = '\0';
    return end + 1;
}

/* bytes: of the tar. */
static bool line_parse(char *line, int64_t bytes, struct bl_tar_member *member)
{
    char *size = text_split(line, ' '), *name = size ? text_split(size, ' ') : NULL;
    char *why = name ? text_split(name, '\t') : NULL;
    *member = (struct bl_tar_member){.name = name, .unusable = why};
    return name && text_decode(name) && (!why || text_decode(why)) &&
           bl_text_to_int(line, strlen(line), 0, bytes, &member->begin) &&
           bl_text_to_int(size, strlen(size), 0, why ? INT64_MAX - bytes : bytes - member->begin, &member->bytes);
}

/* at: what follows the head. */
static bool listing_parse(struct bl_tar_members *m, char *at, const char *shown, int64_t bytes, struct bl_error *fault)
{
    struct bl_error ignored = {0};
    char *text = at;
    at = text_split(text, '\n');
    if (!at || !text_decode(text))
        return false;
    for (char *line = at; *line; line = at) {
        struct bl_tar_member member;
        at = text_split(line, '\n');
        if (!at || !line_parse(line, bytes, &member) || bl_tar_members_add(m, &member, shown, &ignored))
            return false;
    }
    if (*text)
        bl_error_set(fault, BL_EDATA, "%s", text);
    return true;
}

bool bl_tar_listing_find(struct bl_tar_members *m, const struct bl_tar_source *source, const struct stat *status,
                         struct bl_error *fault)
{
    struct bl_buffer path = {0}, head = {0}, text = {0};
    struct bl_error ignored = {0};
    bool found = false;
    if (listing_path(source, &path, &ignored) || bl_sealed_read(path.data, LISTING_MAX, &text, &ignored))
        goto out;
    listing_format_head(source, status, &head);
    found = !head.failed && text.size > head.size && memcmp(text.data, head.data, head.size) == 0 &&
            strlen(text.data) == text.size &&
            listing_parse(m, text.data + head.size, source->shown, status->st_size, fault);
    if (!found)
        bl_tar_members_free(m);
out:
    bl_buffer_free(&path);
    bl_buffer_free(&head);
    bl_buffer_free(&text);
    return found;
}

/* --- writing ----------------------------------------------------------------------------------------------------- */

int bl_tar_listing_write(const struct bl_tar_members *m, const struct bl_tar_source *source, const struct stat *status,
                         const struct bl_error *fault, struct bl_error *e)
{
    struct bl_buffer path = {0}, text = {0};
    int code = listing_path(source, &path, e);
    if (code)
        goto out;
    listing_format_head(source, status, &text);
    bl_text_escape(&text, fault->text, strlen(fault->text));
    for (size_t i = 0; i < m->entries; i++) {
        const struct bl_tar_entry *entry = &m->entry[i];
        const char *name = m->text.data + entry->name, *why = m->text.data + entry->unusable;
        bl_buffer_printf(&text, "\n%" PRId64 " %" PRId64 " ", entry->begin, entry->bytes);
        bl_text_escape(&text, name, strlen(name));
        bl_buffer_text(&text, entry->unusable ? "\t" : "");
        bl_text_escape(&text, why, entry->unusable ? strlen(why) : 0);
    }
    code = bl_sealed_close(&text, e);
    if (!code && text.size <= LISTING_MAX)
        code = bl_output_replace(path.data, text.data, text.size, e);
out:
    bl_buffer_free(&path);
    bl_buffer_free(&text);
    return code;
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
    struct bl_member_choice choice;
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
    bl_member_choice_print(&s->choice, false, &fault);
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
    code = bl_member_choice_make(&s.choice, &s.members, options->member, options->kind, options->kept, e);
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
    bl_member_choice_free(&s.choice);
    bl_tar_members_free(&s.members);
    return code;
}
