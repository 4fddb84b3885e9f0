/* Reads a data folder of Kaldi's into memory and joins its files by the ids of recordings and utterances.
 *
 * Each file is kept as its text, with an entry for each line, and a hash table of the ids. A line that is malformed, or
 * that repeats an id, has a fault and is not in the hash table. So every line of every file ends in one of three ways:
 * it is an utterance, an utterance uses it, or it is reported. */
#include "kind/audio/kaldi.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/buffer.h"
#include "base/documents.h"
#include "base/fs.h"
#include "base/input_file.h"
#include "base/text.h"
#include "base/utf8.h"
#include "kind/list.h"

#define BLANKS " \t\r"

enum { WAV, SEGMENTS, TEXT, SPEAKERS, FILES };

const char *const bl_kaldi_file[] = {
    [WAV] = "wav.scp", [SEGMENTS] = "segments", [TEXT] = "text", [SPEAKERS] = "utt2spk", [FILES] = NULL};

enum kaldi_fault { FAULT_NONE, FAULT_LONG, FAULT_ENCODING, FAULT_EMPTY, FAULT_TWICE };

/* A line: an id, and what follows it. Both are places in the text of the table. */
struct kaldi_entry {
    size_t id, id_size, value, value_size;
    int64_t line;
    int64_t earlier; /* the line that has the id already, with FAULT_TWICE */
    enum kaldi_fault fault;
    bool used; /* by an utterance */
};

struct kaldi_table {
    bool exists;
    struct bl_buffer text;
    struct kaldi_entry *entry;
    size_t count, capacity;
    struct bl_hash by_id; /* of entries without a fault */
};

struct bl_kaldi {
    struct kaldi_table table[FILES];
    int list;             /* WAV or SEGMENTS */
    int file;             /* of the next entry; the list comes first, then the others; FILES: the end */
    size_t next;          /* entry */
    int64_t last;         /* number of the last line of the list, then of those that follow it */
    struct bl_buffer why; /* the reason of the last line */
};

char *bl_kaldi_beside(const char *list, const char *name)
{
    char *folder = bl_path_parent(list);
    char *path = folder ? bl_path_join(folder, name) : NULL;
    free(folder);
    return path;
}

/* --- files -------------------------------------------------------------------------------------------------------- */

static struct bl_kaldi_value entry_id(const struct kaldi_table *t, const struct kaldi_entry *entry)
{
    return (struct bl_kaldi_value){t->text.data + entry->id, entry->id_size};
}

static struct bl_kaldi_value entry_value(const struct kaldi_table *t, const struct kaldi_entry *entry)
{
    return (struct bl_kaldi_value){t->text.data + entry->value, entry->value_size};
}

/* Returns the entry of that id, or NULL. */
static struct kaldi_entry *kaldi_table_find(const struct kaldi_table *t, struct bl_kaldi_value id)
{
    size_t number;
    const uint64_t hash = XXH3_64bits(id.text, id.size);
    for (struct bl_hash_probe probe = bl_hash_begin(&t->by_id, hash); bl_hash_next(&t->by_id, &probe, &number);) {
        struct kaldi_entry *entry = &t->entry[number];
        if (entry->id_size == id.size && memcmp(t->text.data + entry->id, id.text, id.size) == 0)
            return entry;
    }
    return NULL;
}

/* Adds a line to the table. Words of text may be missing: an utterance may have no words. */
static int kaldi_table_add(struct kaldi_table *t, const struct bl_document *line, int64_t number, bool may_be_empty,
                           struct bl_error *e)
{
    BL_TRY(BL_ARRAY_RESERVE(t->entry, t->capacity, t->count + 1, e));
    struct kaldi_entry *entry = &t->entry[t->count++];
    *entry = (struct kaldi_entry){.id = t->text.size, .value = t->text.size, .line = number};
    if (line->too_long) {
        entry->fault = FAULT_LONG;
        return BL_OK;
    }
    const char *text = line->text;
    size_t size = line->size;
    bl_text_trim(&text, &size, BLANKS);
    while (entry->id_size < size && !memchr(BLANKS, text[entry->id_size], strlen(BLANKS)))
        entry->id_size++;
    const char *value = text + entry->id_size;
    entry->value_size = size - entry->id_size;
    bl_text_trim(&value, &entry->value_size, BLANKS);
    entry->value += (size_t)(value - text);
    bl_buffer_append(&t->text, text, size);
    BL_TRY(bl_buffer_check(&t->text, e));
    const struct kaldi_entry *other = kaldi_table_find(t, entry_id(t, entry));
    entry->earlier = other ? other->line : 0;
    entry->fault = bl_utf8_valid(text, size) < size      ? FAULT_ENCODING
                   : !entry->value_size && !may_be_empty ? FAULT_EMPTY
                   : other                               ? FAULT_TWICE
                                                         : FAULT_NONE;
    if (entry->fault)
        return BL_OK;
    return bl_hash_add(&t->by_id, XXH3_64bits(text, entry->id_size), t->count - 1, e);
}

static int kaldi_table_read(struct kaldi_table *t, const char *path, bool may_be_empty, const struct bl_cancel *cancel,
                            struct bl_error *e)
{
    static const struct bl_division_rule rule = {.by = BL_DIVISION_LINE};
    struct bl_documents *lines;
    struct bl_document line;
    int64_t number = 0;
    bool found = true;
    BL_TRY(bl_input_file_exists(path, &t->exists, e));
    if (!t->exists)
        return BL_OK;
    bl_buffer_text(&t->text, ""); /* entries of no bytes point into it, too */
    int code = bl_documents_open(&lines, path, &rule, 0, INT64_MAX, BL_LIST_LINE_MAX, cancel, e);
    if (code)
        return code;
    while (!code && found) {
        code = bl_documents_next(lines, &line, &found, e);
        number++;
        if (!code && found && (line.too_long || !bl_text_is_blank(line.text, line.size)))
            code = kaldi_table_add(t, &line, number, may_be_empty, e);
    }
    bl_documents_close(lines);
    return code;
}

int bl_kaldi_open(struct bl_kaldi **kaldi, const char *list, const struct bl_cancel *cancel, struct bl_error *e)
{
    struct bl_kaldi *k = calloc(1, sizeof *k);
    if (!k)
        return bl_error_memory(e);
    int code = BL_OK;
    k->list = strcmp(bl_path_name(list), bl_kaldi_file[SEGMENTS]) == 0 ? SEGMENTS : WAV;
    k->file = k->list;
    for (int f = 0; f < FILES && !code; f++) {
        /* Without segments, the recordings are the utterances. */
        if (f == SEGMENTS && k->list == WAV)
            continue;
        char *path = bl_kaldi_beside(list, bl_kaldi_file[f]);
        code = path ? kaldi_table_read(&k->table[f], path, f == TEXT || f == SEGMENTS, cancel, e) : bl_error_memory(e);
        if (code == BL_EDATA)
            bl_error_prefix(e, "%s", bl_kaldi_file[f]);
        free(path);
    }
    if (!code && !k->table[WAV].exists)
        code = bl_error_set(e, BL_EDATA, "no wav.scp beside it, which would name the files of the recordings");
    if (code)
        bl_kaldi_close(k);
    else
        *kaldi = k;
    return code;
}

void bl_kaldi_close(struct bl_kaldi *k)
{
    for (int f = 0; f < FILES; f++) {
        bl_buffer_free(&k->table[f].text);
        free(k->table[f].entry);
        bl_hash_free(&k->table[f].by_id);
    }
    bl_buffer_free(&k->why);
    free(k);
}

/* --- utterances --------------------------------------------------------------------------------------------------- */

/* At most so many bytes of an id or a command are shown in a message. */
static int value_shown(struct bl_kaldi_value value)
{
    return value.size < 80 ? (int)value.size : 80;
}

/* Sets the reason if a recording's file is none: it is a command, or a place in an archive. */
static void kaldi_check_file(struct bl_kaldi *k, const struct kaldi_entry *recording)
{
    const struct bl_kaldi_value file = entry_value(&k->table[WAV], recording);
    size_t digits = 0;
    while (digits < file.size && isdigit((unsigned char)file.text[file.size - 1 - digits]))
        digits++;
    bool in_archive = digits && file.size > digits + 5 && memcmp(file.text + file.size - digits - 5, ".ark:", 5) == 0;
    bool is_command = file.text[0] == '|' || file.text[file.size - 1] == '|';
    if (is_command || in_archive)
        bl_buffer_printf(&k->why,
                         "wav.scp:%" PRId64
                         ": %s (\"%.*s\"), where only a file can be read: write its sound to a file, "
                         "as bload-audio(7) shows",
                         recording->line, is_command ? "a command with a pipe" : "a place in an archive",
                         value_shown(file), file.text);
}

/* Splits the value of a segment into recording, start and end. False: it has another number of words. */
static bool segment_split(struct bl_kaldi_value value, struct bl_kaldi_value word[3], int *words)
{
    *words = 0;
    for (size_t at = 0; at < value.size; ++*words) {
        size_t begin = at;
        while (at < value.size && !memchr(BLANKS, value.text[at], strlen(BLANKS)))
            at++;
        if (*words < 3)
            word[*words] = (struct bl_kaldi_value){value.text + begin, at - begin};
        while (at < value.size && memchr(BLANKS, value.text[at], strlen(BLANKS)))
            at++;
    }
    return *words == 3;
}

/* Returns whether the end of a segment is -1, which stands for the end of the recording. */
static bool segment_end_is_open(struct bl_kaldi_value end)
{
    size_t zeros = 0;
    if (end.size < 2 || memcmp(end.text, "-1", 2) != 0)
        return false;
    while (end.size > 3 + zeros && end.text[3 + zeros] == '0')
        zeros++;
    return end.size == 2 || (end.text[2] == '.' && end.size == 3 + zeros);
}

/* Sets the recording's file, start and end of a segment, or the reason. */
static void kaldi_take_segment(struct bl_kaldi *k, const struct kaldi_entry *entry, struct bl_kaldi_utterance *u)
{
    struct bl_kaldi_value word[3];
    int words;
    if (!segment_split(entry_value(&k->table[SEGMENTS], entry), word, &words)) {
        char values[BL_PLURAL_SIZE];
        bl_buffer_printf(&k->why, "%s for \"%.*s\", where a segment has 4: utterance, recording, start, end%s",
                         bl_text_plural(values, words + 1, "value"), value_shown(u->id), u->id.text,
                         words == 4 ? " (the channel of a recording cannot be chosen)" : "");
        return;
    }
    struct kaldi_entry *recording = kaldi_table_find(&k->table[WAV], word[0]);
    if (!recording) {
        bl_buffer_printf(&k->why, "the recording \"%.*s\" of \"%.*s\" has no usable line in wav.scp",
                         value_shown(word[0]), word[0].text, value_shown(u->id), u->id.text);
        return;
    }
    recording->used = true;
    kaldi_check_file(k, recording);
    u->path = entry_value(&k->table[WAV], recording);
    u->start = word[1];
    u->end = segment_end_is_open(word[2]) ? (struct bl_kaldi_value){"", 0} : word[2];
}

/* Takes what a further file says of the utterance. If the file exists, each utterance must have a line there. */
static struct bl_kaldi_value kaldi_take_value(struct bl_kaldi *k, int file, struct bl_kaldi_value id)
{
    const struct kaldi_table *t = &k->table[file];
    struct kaldi_entry *entry = t->exists ? kaldi_table_find(t, id) : NULL;
    if (entry)
        entry->used = true;
    else if (t->exists && !k->why.size)
        bl_buffer_printf(&k->why, "the utterance \"%.*s\" has no usable line in %s", value_shown(id), id.text,
                         bl_kaldi_file[file]);
    return entry ? entry_value(t, entry) : (struct bl_kaldi_value){"", 0};
}

/* Sets the reason for an entry with a fault. */
static void kaldi_print_fault(struct bl_kaldi *k, int file, const struct kaldi_entry *entry)
{
    struct bl_kaldi_value id = entry_id(&k->table[file], entry);
    switch (entry->fault) {
    case FAULT_LONG:
        bl_buffer_printf(&k->why, "a line of more than %d bytes", BL_LIST_LINE_MAX);
        break;
    case FAULT_ENCODING:
        bl_buffer_text(&k->why, "the line is not UTF-8");
        break;
    case FAULT_EMPTY:
        bl_buffer_printf(&k->why, "nothing follows \"%.*s\", where %s has its %s", value_shown(id), id.text,
                         bl_kaldi_file[file], file == WAV ? "file" : "speaker");
        break;
    default:
        bl_buffer_printf(&k->why, "\"%.*s\" is in line %" PRId64 " already", value_shown(id), id.text, entry->earlier);
    }
}

/* Sets the utterance of an entry of the list, or the reason why it is none. */
static void kaldi_take_entry(struct bl_kaldi *k, const struct kaldi_entry *entry, struct bl_kaldi_utterance *u)
{
    if (entry->fault) {
        kaldi_print_fault(k, k->list, entry);
        return;
    }
    u->id = entry_id(&k->table[k->list], entry);
    if (k->list == SEGMENTS) {
        kaldi_take_segment(k, entry, u);
    } else {
        kaldi_check_file(k, entry);
        u->path = entry_value(&k->table[WAV], entry);
    }
    /* An unusable utterance takes them, too, so that its lines in these files are not reported again. */
    u->text = kaldi_take_value(k, TEXT, u->id);
    u->speaker = kaldi_take_value(k, SPEAKERS, u->id);
}

/* Sets the reason for a line of another file that has a fault, or that no utterance uses. Returns false if there is
 * nothing to report. A speaker's line is not reported if the utterance's line in text is. */
static bool kaldi_report_entry(struct bl_kaldi *k, int file, const struct kaldi_entry *entry)
{
    struct bl_kaldi_value id = entry_id(&k->table[file], entry);
    bool in_text = file == SPEAKERS && !entry->fault && kaldi_table_find(&k->table[TEXT], id);
    if (!entry->fault && (entry->used || in_text))
        return false;
    bl_buffer_printf(&k->why, "%s:%" PRId64 ": ", bl_kaldi_file[file], entry->line);
    if (entry->fault)
        kaldi_print_fault(k, file, entry);
    else
        bl_buffer_printf(&k->why, "the %s \"%.*s\" is not in %s", file == WAV ? "recording" : "utterance",
                         value_shown(id), id.text, bl_kaldi_file[k->list]);
    return true;
}

/* Moves to the file whose lines are reported next: the list is the first, then all others in their order. */
static void kaldi_next_file(struct bl_kaldi *k)
{
    k->next = 0;
    k->file = k->file == k->list && k->list != WAV ? WAV : k->file + 1;
    if (k->file == SEGMENTS)
        k->file++;
}

int bl_kaldi_next(struct bl_kaldi *k, struct bl_kaldi_utterance *u, bool *found, struct bl_error *e)
{
    static const struct bl_kaldi_value nothing = {"", 0};
    *u = (struct bl_kaldi_utterance){
        .id = nothing, .path = nothing, .start = nothing, .end = nothing, .text = nothing, .speaker = nothing};
    bl_buffer_clear(&k->why);
    for (*found = false; k->file < FILES && !*found;) {
        const struct kaldi_table *t = &k->table[k->file];
        if (k->next == t->count) {
            kaldi_next_file(k);
            continue;
        }
        const struct kaldi_entry *entry = &t->entry[k->next++];
        *found = k->file == k->list || kaldi_report_entry(k, k->file, entry);
        if (!*found)
            continue;
        if (k->file == k->list)
            kaldi_take_entry(k, entry, u);
        k->last = k->file == k->list ? entry->line : k->last + 1;
    }
    u->line = k->last;
    if (k->why.size)
        u->reason = k->why.data;
    return bl_buffer_check(&k->why, e);
}
