#include "scan/member_choice.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "kind/kinds.h"

#define NAMED_MAX 8 /* extensions in a message */

void bl_member_choice_print(const struct bl_member_choice *c, bool all, struct bl_buffer *out)
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
static int choice_refuse(const struct bl_member_choice *c, const char *what, bool all, const char *advice,
                         struct bl_error *e)
{
    struct bl_buffer names = {0};
    bl_member_choice_print(c, all, &names);
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

static int choice_by_kind(struct bl_member_choice *c, const struct bl_kind *wanted, struct bl_error *e)
{
    const size_t extensions = c->members->extensions;
    const struct bl_kind *first = NULL;
    bool several = false;
    for (size_t x = 0; x < extensions; x++) {
        int code = extension_find_kind(bl_tar_members_extension(c->members, x), wanted, &c->kind[x], e);
        if (code)
            return code;
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

static int choice_by_name(struct bl_member_choice *c, const char *named, const struct bl_kind *wanted,
                          struct bl_error *e)
{
    bool found = false;
    for (size_t x = 0; x < c->members->extensions; x++) {
        const char *extension = bl_tar_members_extension(c->members, x);
        if (!bl_text_list_has(named, extension))
            continue;
        found = true;
        c->kind[x] = wanted;
        int code = wanted ? BL_OK : extension_find_kind(extension, NULL, &c->kind[x], e);
        if (code)
            return code;
        if (!c->kind[x])
            return bl_error_set(e, BL_EUSAGE, "--member %s: of which kind it is, --kind must say", extension);
    }
    if (found || !c->members->extensions)
        return BL_OK;
    struct bl_error what = {0};
    bl_error_set(&what, BL_EUSAGE, "--member %s: the tars have no such members", named);
    return choice_refuse(c, what.text, true, "name an extension that they have", e);
}

int bl_member_choice_make(struct bl_member_choice *c, const struct bl_tar_members *members, const char *named,
                          const struct bl_kind *wanted, const struct bl_texts *kept, struct bl_error *e)
{
    *c = (struct bl_member_choice){.members = members,
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

void bl_member_choice_free(struct bl_member_choice *c)
{
    free(c->kind);
    free(c->kept);
    *c = (struct bl_member_choice){0};
}
