/* Chooses one array of a file by its name. Where several are possible, only the user knows which one was meant, so that
 * the file is refused, and the message has the first names. */
#include "kind/array/choice.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <string.h>

#include "base/text.h"

#define NAMES_MAX 5      /* names of arrays in a message */
#define MATCHED_MAX 4096 /* bytes of a name that a pattern can match */

bool bl_array_name_is_pattern(const char *name)
{
    return name && strpbrk(name, "*?[");
}

bool bl_array_pattern_matches(const char *pattern, const char *name)
{
    return fnmatch(pattern, name, 0) == 0;
}

void bl_array_choice_add(struct bl_array_choice *choice, const char *name, size_t size, bool matches)
{
    choice->matches += matches;
    if (++choice->arrays > NAMES_MAX)
        return;
    bl_buffer_text(&choice->names, choice->arrays > 1 ? ", " : "");
    bl_text_escape(&choice->names, name, size);
}

bool bl_array_choice_offer(struct bl_array_choice *choice, const char *name, size_t size)
{
    char whole[MATCHED_MAX];
    bool matches = !choice->name || (strlen(choice->name) == size && memcmp(choice->name, name, size) == 0);
    if (!matches && choice->is_pattern && size < sizeof whole) {
        /* fnmatch takes a text with a NUL behind it. */
        memcpy(whole, name, size);
        whole[size] = '\0';
        matches = bl_array_pattern_matches(choice->name, whole);
    }
    bl_array_choice_add(choice, name, size, matches);
    return matches;
}

int bl_array_choice_check(const struct bl_array_choice *c, struct bl_error *e)
{
    const char *names = c->names.size ? c->names.data : "";
    /* The message shows that there are further names. */
    const char *more = c->arrays > NAMES_MAX ? "..." : "";
    BL_TRY(bl_buffer_check(&c->names, e));
    if (!c->arrays)
        return bl_error_set(e, BL_EDATA, "%s without arrays", c->one);
    if (!c->matches)
        return bl_error_set(e, BL_EDATA, "no array \"%s\" in %s, but %s%s", c->name, c->file, names, more);
    if (!c->name && c->arrays > 1)
        return bl_error_set(e, BL_EDATA, "%" PRId64 " arrays (%s%s): choose one with --array", c->arrays, names, more);
    if (c->is_pattern && c->matches > 1)
        return bl_error_set(e, BL_EDATA, "%" PRId64 " arrays match \"%s\", and here one is wanted", c->matches,
                            c->name);
    return BL_OK;
}

void bl_array_choice_free(struct bl_array_choice *choice)
{
    bl_buffer_free(&choice->names);
}
