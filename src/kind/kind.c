#include "kind/kind.h"

#include <string.h>
#include <strings.h>

#include "kind/array/array.h"
#include "kind/audio/audio.h"
#include "kind/frames/frames.h"
#include "kind/labels/labels.h"
#include "kind/text/text.h"
#include "kind/video/video.h"

const struct bl_kind *const bl_kinds[] = {
    &bl_kind_video, &bl_kind_audio, &bl_kind_array, &bl_kind_text, &bl_kind_frames, &bl_kind_labels, NULL};

const struct bl_kind *bl_kind_find(const char *name)
{
    for (int i = 0; bl_kinds[i]; i++) {
        if (strcmp(bl_kinds[i]->name, name) == 0)
            return bl_kinds[i];
    }
    return NULL;
}

bool bl_kind_is_list(const struct bl_kind *kind, const char *path)
{
    return kind->is_list && kind->is_list(path);
}

const char *bl_kind_steps(const struct bl_kind *kind, const void *config)
{
    return kind->steps_of ? kind->steps_of(config) : kind->steps;
}

int bl_kind_index(const struct bl_kind *kind)
{
    int k = 0;
    while (bl_kinds[k] != kind)
        k++;
    return k;
}

/* "a.jsonl.gz" has the extensions "gz" and "jsonl.gz". */
static bool name_has_extension(const char *name, const char *extension)
{
    size_t size = strlen(name), tail = strlen(extension);
    return size > tail && name[size - tail - 1] == '.' && strcasecmp(name + size - tail, extension) == 0;
}

bool bl_kind_has_extension(const struct bl_kind *kind, const char *name)
{
    for (const char *const *extension = kind->extensions; *extension; extension++) {
        if (name_has_extension(name, *extension))
            return true;
    }
    return kind->reads_stdin && strcmp(name, "-") == 0;
}

double bl_kind_step_time(const struct bl_rational *rate, const double *times, int64_t start, int64_t i)
{
    if (!rate->den)
        return times[i];
    return (times ? times[i] : (double)(start + i)) * (double)rate->den / (double)rate->num;
}

bool bl_kind_rate(const struct bl_kind *kind, const char *sampling, int64_t *num, int64_t *den)
{
    char own[256]; /* what follows is of further fields */
    size_t size = strcspn(sampling, ";");
    if (!kind->rate || size >= sizeof own)
        return false;
    memcpy(own, sampling, size);
    own[size] = '\0';
    return kind->rate(own, num, den);
}

int bl_kind_dtype(const struct bl_kind *kind, const char *name)
{
    for (int i = 0; kind->dtypes && kind->dtypes[i]; i++) {
        if (strcmp(kind->dtypes[i], name) == 0)
            return i;
    }
    return -1;
}

const struct bl_kind *bl_kind_find_by_file(const char *name)
{
    for (int i = 0; bl_kinds[i]; i++) {
        if (!bl_kinds[i]->measure && bl_kind_has_extension(bl_kinds[i], name))
            return bl_kinds[i];
    }
    return NULL;
}
