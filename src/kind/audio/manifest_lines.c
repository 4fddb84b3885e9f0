/* Reads the lines of NeMo's and lhotse's manifests, which are JSON objects, one a line.
 *
 * A line is scanned once for all keys that matter in either form; the keys that it has tell the form: NeMo's lines have
 * "audio_filepath", lhotse's recordings "sources", lhotse's cuts a type or "recording.sources". A line of any other
 * form is rejected with its keys in the message. */
#include "kind/audio/manifest_lines.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"

/* --- further values ----------------------------------------------------------------------------------------------- */

/* Keys that are no further values: the audio kind reads them, or they describe how a recording or its features are
 * stored. */
static const char *const nemo_keys[] = {"audio_filepath", "audio_filename", "offset", "duration",
                                        "text",           "shard_id",       NULL};
static const char *const lhotse_keys[] = {"id",           "type",          "start",       "duration", "channel",
                                          "supervisions", "recording",     "features",    "sources",  "transforms",
                                          "num_samples",  "sampling_rate", "channel_ids", NULL};
static const char *const supervision_keys[] = {"id",      "recording_id", "start",     "duration",
                                               "channel", "text",         "alignment", NULL};

/* Names that columns and tensors of sound have already: a further value of such a name gets the prefix "manifest.". */
static const char *const taken_names[] = {"id",       "length",     "kind",       "path",          "bytes", "status",
                                          "reason",   "sampling",   "stream",     "content",       "start", "duration",
                                          "channel",  "clip_begin", "clip_end",   "clip_seek",     "text",  "audio",
                                          "features", "sequence",   "cu_seqlens", "num_sequences", NULL};

struct manifest_walk {
    bl_list_value_take *take;
    void *sink;
    struct bl_buffer name, plain;
};

/* Returns whether a list of names, which ends with NULL, has this one. */
static bool names_have(const char *const *names, const char *name)
{
    for (; *names; names++) {
        if (strcmp(*names, name) == 0)
            return true;
    }
    return false;
}

/* Returns whether an object has a member of that name, written without escapes. */
static bool object_has(const struct bl_json_value *object, const char *key)
{
    struct bl_json_value name, value;
    for (size_t at = 0; bl_json_next_member(object, &at, &name, &value);) {
        if (name.size == strlen(key) && memcmp(name.text, key, name.size) == 0)
            return true;
    }
    return false;
}

/* Returns whether the value of "channel" in a line of NeMo's chooses channels. Any other value, such as "telephone", is
 * a further value. */
static bool json_is_choice(const struct bl_json_value *value)
{
    return value->type == BL_JSON_NUMBER || value->type == BL_JSON_ARRAY;
}

/* Hands the members of an object whose names are not known to w->take. custom: the name under which the member "custom"
 * is taken. */
static int walk_object(struct manifest_walk *w, const struct bl_json_value *object, const char *const *known,
                       const char *custom, struct bl_error *e)
{
    struct bl_json_value name, value;
    int code = BL_OK;
    for (size_t at = 0, lone; !code && bl_json_next_member(object, &at, &name, &value);) {
        bl_buffer_clear(&w->name);
        bl_buffer_clear(&w->plain);
        bl_json_unescape(&name, &w->plain, &lone);
        bl_buffer_text(&w->plain, "");
        code = bl_buffer_check(&w->plain, e);
        bool chooses = !code && known == nemo_keys && strcmp(w->plain.data, "channel") == 0 && json_is_choice(&value);
        if (code || chooses || names_have(known, w->plain.data))
            continue;
        bool is_custom = strcmp(w->plain.data, "custom") == 0;
        bl_buffer_printf(&w->name, "%s%s", names_have(taken_names, w->plain.data) ? "manifest." : "",
                         is_custom ? custom : w->plain.data);
        code = bl_buffer_check(&w->name, e);
        if (!code)
            code = w->take(w->sink, w->name.data, &value, e);
    }
    return code;
}

/* Hands on the further values of each supervision of a line of lhotse's. */
static int walk_supervisions(struct manifest_walk *w, const struct bl_json_value *line, struct bl_error *e)
{
    struct bl_json_value name, value, element;
    int code = BL_OK;
    for (size_t at = 0; !code && bl_json_next_member(line, &at, &name, &value);) {
        if (name.size != 12 || memcmp(name.text, "supervisions", 12) != 0 || value.type != BL_JSON_ARRAY)
            continue;
        for (size_t within = 0; !code && bl_json_next(&value, &within, &element);) {
            if (element.type == BL_JSON_OBJECT)
                code = walk_object(w, &element, supervision_keys, "supervision.custom", e);
        }
    }
    return code;
}

int bl_manifest_values(const struct bl_json_value *line, bl_list_value_take *take, void *sink, struct bl_error *e)
{
    struct manifest_walk w = {.take = take, .sink = sink};
    bool nemo = object_has(line, "audio_filepath") || object_has(line, "audio_filename");
    int code = BL_OK;
    if (nemo || object_has(line, "recording") || object_has(line, "sources"))
        code = walk_object(&w, line, nemo ? nemo_keys : lhotse_keys, "custom", e);
    if (!code && !nemo)
        code = walk_supervisions(&w, line, e);
    bl_buffer_free(&w.name);
    bl_buffer_free(&w.plain);
    return code;
}

/* --- entries ------------------------------------------------------------------------------------------------------ */

/* The keys that a line may have, as indices of key_name and of the values that were found. */
enum key {
    KEY_AUDIO_FILEPATH,
    KEY_AUDIO_FILENAME,
    KEY_OFFSET,
    KEY_DURATION,
    KEY_TEXT,
    KEY_SHARD,
    KEY_TYPE,
    KEY_ID,
    KEY_START,
    KEY_CHANNEL,
    KEY_SUPERVISIONS,
    KEY_SOURCES,
    KEY_TRANSFORMS,
    KEY_RECORDING_SOURCES,
    KEY_RECORDING_TRANSFORMS,
    KEYS
};

static const char *const key_name[KEYS] = {"audio_filepath",
                                           "audio_filename",
                                           "offset",
                                           "duration",
                                           "text",
                                           "shard_id",
                                           "type",
                                           "id",
                                           "start",
                                           "channel",
                                           "supervisions",
                                           "sources",
                                           "transforms",
                                           "recording.sources",
                                           "recording.transforms"};

void bl_entry_free(struct bl_entry *entry)
{
    bl_buffer_free(&entry->id);
    bl_buffer_free(&entry->path);
    bl_buffer_free(&entry->text);
    bl_buffer_free(&entry->scratch);
    *entry = (struct bl_entry){0};
}

/* Finds the values of keys in an object; a key that the object does not have gets the type BL_JSON_NONE. */
static bool json_scan_keys(const char *text, size_t size, const char *const *name, int keys,
                           struct bl_json_value *value, struct bl_json_fault *fault)
{
    struct bl_json_key key[KEYS];
    for (int k = 0; k < keys; k++)
        bl_json_key_parse(&key[k], name[k], strlen(name[k]));
    return bl_json_scan(text, size, key, keys, value, fault);
}

/* Appends a string without its escapes. */
static void json_append_string(struct bl_buffer *out, const struct bl_json_value *value)
{
    size_t lone;
    if (value->escaped)
        bl_json_unescape(value, out, &lone);
    else if (value->size)
        bl_buffer_append(out, value->text, value->size);
}

static bool json_string_is(const struct bl_json_value *value, const char *text)
{
    return value->type == BL_JSON_STRING && value->size == strlen(text) && memcmp(value->text, text, value->size) == 0;
}

/* Returns whether there is a value other than null. */
static bool json_has_value(const struct bl_json_value *value)
{
    return value->type != BL_JSON_NONE && (value->type != BL_JSON_WORD || *value->text != 'n');
}

/* Returns a string for a message; valid until the next call. */
static const char *entry_unescape(struct bl_entry *entry, const struct bl_json_value *value)
{
    bl_buffer_clear(&entry->scratch);
    json_append_string(&entry->scratch, value);
    return entry->scratch.size ? entry->scratch.data : "";
}

/* Sets the entry's path from the value of the key `name`. BL_EDATA: the value is no path. */
static int entry_set_path(struct bl_entry *entry, const struct bl_json_value *value, const char *name,
                          struct bl_error *e)
{
    if (value->type != BL_JSON_STRING || !value->size)
        return bl_error_set(e, BL_EDATA, "\"%s\" is %s, no path", name,
                            value->type == BL_JSON_STRING ? "empty" : bl_json_type_name(value->type));
    json_append_string(&entry->path, value);
    if (!entry->path.failed && strlen(entry->path.data) != entry->path.size)
        return bl_error_set(e, BL_EDATA, "a zero byte in \"%s\"", name);
    return bl_buffer_check(&entry->path, e);
}

/* Copies seconds as they are written in the line, so that rounding happens once, at the recording's rate; "" where
 * there is no value. */
static int entry_copy_seconds(char out[BL_ENTRY_NUMBER_MAX], const struct bl_json_value *value, const char *name,
                              struct bl_error *e)
{
    *out = '\0';
    if (!json_has_value(value))
        return BL_OK;
    if (value->type != BL_JSON_NUMBER || value->size >= BL_ENTRY_NUMBER_MAX)
        return bl_error_set(e, BL_EDATA, "\"%s\" is no number of seconds", name);
    memcpy(out, value->text, value->size);
    out[value->size] = '\0';
    return BL_OK;
}

/* Parses the channels of a line: a number, or an array of numbers. Returns false for any other value; null and no value
 * are no choice. */
static bool entry_parse_channels(const struct bl_json_value *value, int max, struct bl_channel_list *channels)
{
    *channels = (struct bl_channel_list){0};
    if (!json_has_value(value))
        return true;
    bool usable = value->type == BL_JSON_NUMBER || value->type == BL_JSON_ARRAY;
    return usable && bl_channel_list_parse(value->text, value->size, max, channels) && channels->count;
}

/* Copies the channels of the file as the table has them. */
static int entry_set_channels(struct bl_entry *entry, const struct bl_channel_list *channels, struct bl_error *e)
{
    bl_buffer_clear(&entry->scratch);
    bl_channel_list_format(channels, &entry->scratch);
    BL_TRY(bl_buffer_check(&entry->scratch, e));
    snprintf(entry->channel, sizeof entry->channel, "%s", entry->scratch.size ? entry->scratch.data : "");
    return BL_OK;
}

/* Parses a line of NeMo's, such as {"audio_filepath": "a.wav", "offset": 0.5, "duration": 2.25, "text": "good
 * morning"}. */
static int nemo_parse(struct bl_entry *entry, const struct bl_json_value *value, struct bl_error *e)
{
    enum key path = value[KEY_AUDIO_FILEPATH].type != BL_JSON_NONE ? KEY_AUDIO_FILEPATH : KEY_AUDIO_FILENAME;
    strcpy(entry->start, "0");
    if (json_has_value(&value[KEY_SHARD]))
        return bl_error_set(
            e, BL_EDATA, "a line of a tarred dataset (\"shard_id\"): unpack the dataset, only its files can be read");
    if (value[KEY_TEXT].type == BL_JSON_STRING)
        json_append_string(&entry->text, &value[KEY_TEXT]);
    entry->relative = true;
    BL_TRY(entry_set_path(entry, &value[path], key_name[path], e));
    if (json_is_choice(&value[KEY_CHANNEL])) {
        struct bl_channel_list channels;
        if (!entry_parse_channels(&value[KEY_CHANNEL], BL_CHANNEL_NUMBER_MAX, &channels))
            return bl_error_set(e, BL_EDATA, "\"channel\" chooses no channels: write 0, or [0, 4]");
        BL_TRY(entry_set_channels(entry, &channels, e));
    }
    if (json_has_value(&value[KEY_OFFSET])) {
        BL_TRY(entry_copy_seconds(entry->start, &value[KEY_OFFSET], "offset", e));
    }
    return entry_copy_seconds(entry->duration, &value[KEY_DURATION], "duration", e);
}

/* Returns the index of a channel among those of a source, or -1. */
static int lhotse_find_channel(const struct bl_json_value *channels, int64_t wanted)
{
    int64_t number;
    size_t at = 0;
    bool found = channels->type == BL_JSON_ARRAY;
    for (int i = 0; found; i++) {
        if (bl_json_next_int(channels, &at, &number, &found))
            return -1;
        if (found && number == wanted)
            return i;
    }
    return -1;
}

/* Finds the wanted channels among those of a source. Returns how many of them the source has, and replaces their
 * numbers by their places, which are their numbers in the file. */
static int lhotse_find_channels(const struct bl_json_value *channels, const struct bl_channel_list *wanted,
                                struct bl_channel_list *places)
{
    int found = 0;
    *places = *wanted;
    for (int c = 0; c < wanted->count; c++) {
        int place = lhotse_find_channel(channels, wanted->number[c]);
        if (place < 0)
            continue;
        places->number[c] = (uint16_t)place;
        found++;
    }
    return found;
}

/* Takes the path of the source that has the channels, or of the only source if there is no choice. */
static int lhotse_parse_sources(struct bl_entry *entry, const struct bl_json_value *sources,
                                const struct bl_channel_list *wanted, struct bl_error *e)
{
    static const char *const name[] = {"type", "channels", "source"};
    struct bl_json_value element, source[3];
    struct bl_json_fault fault;
    size_t at = 0;
    int count = 0;
    if (sources->type != BL_JSON_ARRAY)
        return bl_error_set(e, BL_EDATA, "no recording with its sources");
    while (bl_json_next(sources, &at, &element)) {
        if (!json_scan_keys(element.text, element.size, name, 3, source, &fault))
            return bl_error_set(e, BL_EDATA, "a source is no object");
        struct bl_channel_list places;
        int found = lhotse_find_channels(&source[1], wanted, &places);
        if (wanted->count && !found)
            continue;
        if (count++ || found < wanted->count)
            return bl_error_set(e, BL_EDATA, "a recording of several files: give cuts of one channel (MonoCut)");
        BL_TRY(entry_set_channels(entry, &places, e));
        if (!json_string_is(&source[0], "file"))
            return bl_error_set(e, BL_EDATA, "a source of type \"%.40s\": only files can be read",
                                entry_unescape(entry, &source[0]));
        BL_TRY(entry_set_path(entry, &source[2], "source", e));
    }
    if (!count && !wanted->count)
        return bl_error_set(e, BL_EDATA, "a recording without sources");
    return count ? BL_OK : bl_error_set(e, BL_EDATA, "no source has channel %d", wanted->number[0]);
}

/* Returns BL_EDATA for transforms that would change the samples, as none of them is done here. Resampling changes no
 * times, and happens anyway. */
static int lhotse_check_transforms(struct bl_entry *entry, const struct bl_json_value *transforms, struct bl_error *e)
{
    static const char *const name[] = {"name"};
    struct bl_json_value element, transform;
    struct bl_json_fault fault;
    size_t at = 0;
    while (transforms->type == BL_JSON_ARRAY && bl_json_next(transforms, &at, &element)) {
        if (!json_scan_keys(element.text, element.size, name, 1, &transform, &fault) ||
            !json_string_is(&transform, "Resample")) {
            const char *what = entry_unescape(entry, &transform);
            return bl_error_set(
                e, BL_EDATA,
                "lhotse would transform this recording as it reads it (%.40s): save the result as a sound file",
                *what ? what : "transforms");
        }
    }
    return BL_OK;
}

/* Parses a Recording of lhotse's, which has sources, or a cut of one channel or of several, which has a recording, a
 * start, a duration and supervisions. The entry's text joins those of the supervisions with spaces. */
static int lhotse_parse(struct bl_entry *entry, const struct bl_json_value *value, struct bl_error *e)
{
    static const char *const name[] = {"text"};
    const struct bl_json_value *supervisions = &value[KEY_SUPERVISIONS];
    struct bl_json_value element, text;
    struct bl_json_fault fault;
    struct bl_channel_list channels = {0};
    if (value[KEY_ID].type == BL_JSON_STRING)
        json_append_string(&entry->id, &value[KEY_ID]);
    if (entry->id.size && strlen(entry->id.data) != entry->id.size)
        return bl_error_set(e, BL_EDATA, "a zero byte in \"id\"");
    if (value[KEY_SOURCES].type != BL_JSON_NONE) {
        strcpy(entry->start, "0"); /* all of a recording */
        BL_TRY(lhotse_check_transforms(entry, &value[KEY_TRANSFORMS], e));
        return lhotse_parse_sources(entry, &value[KEY_SOURCES], &channels, e);
    }
    for (size_t at = 0; supervisions->type == BL_JSON_ARRAY && bl_json_next(supervisions, &at, &element);) {
        if (!json_scan_keys(element.text, element.size, name, 1, &text, &fault) || text.type != BL_JSON_STRING ||
            !text.size)
            continue;
        if (entry->text.size)
            bl_buffer_byte(&entry->text, ' ');
        json_append_string(&entry->text, &text);
    }
    if (!entry_parse_channels(&value[KEY_CHANNEL], UINT16_MAX, &channels))
        return bl_error_set(e, BL_EDATA, "\"channel\" is no number of a channel");
    if (!channels.count && json_string_is(&value[KEY_TYPE], "MultiCut"))
        return bl_error_set(e, BL_EDATA, "a cut of several channels (MultiCut) without \"channel\"");
    if (!channels.count) /* the cut has channel 0 */
        channels.count = 1;
    BL_TRY(lhotse_check_transforms(entry, &value[KEY_RECORDING_TRANSFORMS], e));
    BL_TRY(lhotse_parse_sources(entry, &value[KEY_RECORDING_SOURCES], &channels, e));
    BL_TRY(entry_copy_seconds(entry->start, &value[KEY_START], "start", e));
    BL_TRY(entry_copy_seconds(entry->duration, &value[KEY_DURATION], "duration", e));
    if (!*entry->start || !*entry->duration)
        return bl_error_set(e, BL_EDATA, "a cut without start and duration");
    return BL_OK;
}

/* Reports a line that is neither NeMo's nor lhotse's, with the reason or the line's first keys. */
static int entry_reject(struct bl_entry *entry, const struct bl_json_value *value, const char *line, size_t size,
                        struct bl_error *e)
{
    const char *type = entry_unescape(entry, &value[KEY_TYPE]);
    if (value[KEY_ID].type == BL_JSON_STRING)
        json_append_string(&entry->id, &value[KEY_ID]);
    if (value[KEY_TYPE].type == BL_JSON_STRING && *type)
        return bl_error_set(e, BL_EDATA, "a %.40s is not a part of one recording: save its sound as a file", type);
    bl_buffer_clear(&entry->scratch);
    bl_json_append_keys(line, size, 8, &entry->scratch);
    return bl_error_set(e, BL_EDATA,
                        "neither a line of NeMo's (\"audio_filepath\") nor a cut or recording of lhotse's: "
                        "its keys are %s",
                        entry->scratch.size ? entry->scratch.data : "none");
}

int bl_entry_parse(struct bl_entry *entry, const char *line, size_t size, struct bl_error *e)
{
    struct bl_json_value value[KEYS];
    struct bl_json_fault fault;
    struct bl_buffer *text = &entry->text;
    bl_buffer_clear(&entry->id);
    bl_buffer_clear(&entry->path);
    bl_buffer_clear(text);
    entry->relative = false;
    const char *end = memchr(line, '\n', size);
    entry->further = end ? end + 1 : "";
    entry->further_size = end ? size - (size_t)(entry->further - line) : 0;
    size = end ? (size_t)(end - line) : size;
    *entry->start = *entry->duration = *entry->channel = '\0';
    if (!json_scan_keys(line, size, key_name, KEYS, value, &fault))
        return bl_error_set(e, BL_EDATA, "not JSON at byte %zu of the line: %s", fault.at, fault.what);
    /* Old cuts of lhotse have no type, but those of one channel have its number. */
    const struct bl_json_value *type = &value[KEY_TYPE];
    bool nemo = value[KEY_AUDIO_FILEPATH].type != BL_JSON_NONE || value[KEY_AUDIO_FILENAME].type != BL_JSON_NONE;
    bool untyped = type->type == BL_JSON_NONE && value[KEY_CHANNEL].type == BL_JSON_NUMBER;
    bool lhotse = value[KEY_SOURCES].type != BL_JSON_NONE || json_string_is(type, "MonoCut") ||
                  json_string_is(type, "Cut") || json_string_is(type, "MultiCut") ||
                  (untyped && value[KEY_RECORDING_SOURCES].type == BL_JSON_ARRAY);
    int code = nemo     ? nemo_parse(entry, value, e)
               : lhotse ? lhotse_parse(entry, value, e)
                        : entry_reject(entry, value, line, size, e);
    entry->text_truncated = text->size > BL_ENTRY_TEXT_MAX;
    if (entry->text_truncated) {
        /* The text ends with a whole character of UTF-8, whose further bytes are 10xxxxxx. */
        text->size = BL_ENTRY_TEXT_MAX;
        while (text->size && ((unsigned char)text->data[text->size] & 0xc0) == 0x80)
            text->size--;
        text->data[text->size] = '\0';
    }
    if (code)
        return code;
    BL_TRY(bl_buffer_check(text, e));
    return bl_buffer_check(&entry->id, e);
}

bool bl_entry_is_relative(const struct bl_entry *entry, const struct bl_chunk *chunk)
{
    return entry->relative && *entry->path.data != '/' && strchr(chunk->input->name, '/');
}

int bl_entry_names(const struct bl_chunk *chunk, const struct bl_line *line, bl_list_take *take, void *sink,
                   struct bl_error *e)
{
    if (chunk->clips)
        return bl_list_names_of_clip(chunk, line, take, sink, e);
    struct bl_entry entry = {0};
    struct bl_list_path path = {0};
    struct bl_error unusable = {0};
    int code = bl_entry_parse(&entry, line->text, line->size, &unusable);
    if (code && code != BL_EDATA) {
        bl_error_pass(e, code, &unusable);
        goto out;
    }
    const char *id = entry.id.size ? entry.id.data : NULL;
    if (code) {
        code = take(sink, id, NULL, NULL, e);
        goto out;
    }
    bool relative = bl_entry_is_relative(&entry, chunk);
    for (int from_list = relative; from_list >= 0 && !code; from_list--) {
        code = bl_list_path_set(&path, chunk, entry.path.data, from_list, e);
        if (!code)
            code = take(sink, id, path.path.data, path.open_path.data, e);
    }
out:
    bl_entry_free(&entry);
    bl_list_path_free(&path);
    return code;
}

/* --- cuts --------------------------------------------------------------------------------------------------------- */

const struct bl_cut bl_cut_whole = {.duration = -1};

/* Parses all of the text as a number from 0 to max. */
static bool cut_number_parse(const char *text, double max, double *value)
{
    char *end;
    *value = strtod(text, &end);
    return end != text && !*end && *value >= 0 && *value <= max;
}

bool bl_cut_parse(struct bl_cut *cut, const struct bl_row *row)
{
    const char *channel = row->channel ? row->channel : "";
    *cut = bl_cut_whole;
    cut->begin = row->clip_begin;
    cut->end = row->clip_end;
    if (!bl_channel_list_parse(channel, strlen(channel), BL_CHANNEL_NUMBER_MAX, &cut->channels))
        return false;
    if (cut->end || !row->start || !*row->start)
        return true;
    const double seconds_max = 1e9; /* 31 years: with any rate, samples fit into 64 bits */
    if (!cut_number_parse(row->start, seconds_max, &cut->start))
        return false;
    return !row->duration || !*row->duration ||
           (cut_number_parse(row->duration, seconds_max, &cut->duration) && cut->duration != 0);
}

bool bl_cut_is_whole(const struct bl_cut *cut)
{
    return cut->start == 0 && cut->duration < 0 && !cut->end;
}

/* The fraction is rounded to eight decimals first: 0.29 s of 100 samples are 28.999..., which must become 29. */
int64_t bl_cut_samples(double seconds, int rate)
{
    double samples = seconds * rate, whole = floor(samples);
    return (int64_t)whole + (rint((samples - whole) * 1e8) >= 5e7);
}

void bl_cut_range(const struct bl_cut *cut, int rate, int64_t *begin, int64_t *end)
{
    if (cut->end) {
        *begin = cut->begin;
        *end = cut->end;
        return;
    }
    *begin = bl_cut_samples(cut->start, rate);
    *end = cut->duration < 0 ? INT64_MAX : *begin + bl_cut_samples(cut->duration, rate);
}
