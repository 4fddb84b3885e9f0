#include "kind/audio/manifest_keys.h"

#include <string.h>

/* What the audio kind reads, and what tells how a recording or its features are stored. */
static const char *const nemo_keys[] = {"audio_filepath", "audio_filename", "offset", "duration",
                                        "text",           "shard_id",       NULL};
static const char *const lhotse_keys[] = {"id",           "type",          "start",       "duration", "channel",
                                          "supervisions", "recording",     "features",    "sources",  "transforms",
                                          "num_samples",  "sampling_rate", "channel_ids", NULL};
static const char *const supervision_keys[] = {"id",      "recording_id", "start",     "duration",
                                               "channel", "text",         "alignment", NULL};

/* Names that columns and tensors of sound have already. */
static const char *const taken_names[] = {"id",       "length",     "kind",       "path",          "bytes", "status",
                                          "reason",   "sampling",   "stream",     "content",       "start", "duration",
                                          "channel",  "clip_begin", "clip_end",   "clip_seek",     "text",  "audio",
                                          "features", "sequence",   "cu_seqlens", "num_sequences", NULL};

struct walk {
    bl_list_value_take *take;
    void *sink;
    struct bl_buffer name, plain;
};

static bool names_have(const char *const *names, const char *name)
{
    for (; *names; names++) {
        if (strcmp(*names, name) == 0)
            return true;
    }
    return false;
}

static bool object_has(const struct bl_json_value *object, const char *key)
{
    struct bl_json_value name, value;
    for (size_t at = 0; bl_json_next_member(object, &at, &name, &value);) {
        if (name.size == strlen(key) && memcmp(name.text, key, name.size) == 0)
            return true;
    }
    return false;
}

/* Takes the members of an object that are not known. custom: the name of that member. */
static int walk_object(struct walk *w, const struct bl_json_value *object, const char *const *known, const char *custom,
                       struct bl_error *e)
{
    struct bl_json_value name, value;
    int code = BL_OK;
    for (size_t at = 0, lone; !code && bl_json_next_member(object, &at, &name, &value);) {
        bl_buffer_clear(&w->name);
        bl_buffer_clear(&w->plain);
        bl_json_unescape(&name, &w->plain, &lone);
        bl_buffer_text(&w->plain, "");
        code = bl_buffer_check(&w->plain, e);
        if (code || names_have(known, w->plain.data))
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

static int walk_supervisions(struct walk *w, const struct bl_json_value *line, struct bl_error *e)
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
    struct walk w = {.take = take, .sink = sink};
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
