/* Checksums of data, files that end with their checksum, and the lines that identify a dataset.
 *
 * XXH3 with 64 bits finds accidental damage; it is no protection against intent, and costs less than reading from a
 * disk. The identity of a dataset is a text of lines "name: value", one for each option that decides its bytes. A run
 * that is resumed compares the lines, so that a message can name the option that differs:
 *
 *     strategy: mix
 *     world-size: 8
 *     size: 224x224 */
#define XXH_DISPATCH_DISABLE_REPLACE /* the header would otherwise replace XXH3_64bits by macros everywhere */

#include "base/checksum.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* --- checksum ----------------------------------------------------------------------------------------------------- */

/* The library's loops for the processor at hand are twice as fast as those for any x86-64. Only the shared library is
 * sure to have them, so that the symbols are weak: without the function its address is NULL. */
#if defined(__x86_64__)
#include <xxh_x86dispatch.h>
#pragma weak XXH3_64bits_dispatch
#pragma weak XXH3_64bits_update_dispatch
#endif

uint64_t bl_checksum(const void *data, size_t size)
{
#if defined(__x86_64__)
    if (XXH3_64bits_dispatch)
        return XXH3_64bits_dispatch(data, size);
#endif
    return XXH3_64bits(data, size);
}

void bl_checksum_begin(struct bl_checksum_state *state)
{
    /* Neither call can fail: state is not NULL, nor is data unless size is 0. */
    (void)XXH3_64bits_reset(&state->state);
}

void bl_checksum_add(struct bl_checksum_state *state, const void *data, size_t size)
{
#if defined(__x86_64__)
    if (XXH3_64bits_update_dispatch) {
        (void)XXH3_64bits_update_dispatch(&state->state, data, size);
        return;
    }
#endif
    (void)XXH3_64bits_update(&state->state, data, size);
}

uint64_t bl_checksum_end(const struct bl_checksum_state *state)
{
    return XXH3_64bits_digest(&state->state);
}

/* The digits go from the highest to the lowest, as "%016x" writes them. */
void bl_checksum_format(uint64_t checksum, char digest[BL_DIGEST_SIZE])
{
    enum { DIGITS = BL_DIGEST_SIZE - 1 };
    for (int i = 0; i < DIGITS; i++)
        digest[i] = "0123456789abcdef"[checksum >> 4 * (DIGITS - 1 - i) & 15];
    digest[DIGITS] = '\0';
}

/* Accepts only what bl_checksum_format writes: 16 digits, no capital letters. */
bool bl_checksum_parse(const char *text, uint64_t *checksum)
{
    static const char digits[] = "0123456789abcdef";
    if (strlen(text) != BL_DIGEST_SIZE - 1)
        return false;
    uint64_t value = 0;
    for (; *text; text++) {
        const char *digit = strchr(digits, *text);
        if (!digit)
            return false;
        value = value << 4 | (uint64_t)(digit - digits);
    }
    *checksum = value;
    return true;
}

/* --- files that end with their checksum --------------------------------------------------------------------------- */

#define END_SIZE (sizeof "end 0123456789abcdef\n" - 1) /* bytes of the last line */

/* Makes the last line of a sealed file: "end " and the checksum of all bytes before the line. */
static void end_format(const void *data, size_t size, char end[END_SIZE + 1])
{
    snprintf(end, END_SIZE + 1, "end %016" PRIx64 "\n", bl_checksum(data, size));
}

/* The text must end with a line end, so that "end" begins a line. */
int bl_sealed_close(struct bl_buffer *text, struct bl_error *e)
{
    char end[END_SIZE + 1];
    if (!text->size || text->data[text->size - 1] != '\n')
        bl_buffer_byte(text, '\n');
    BL_TRY(bl_buffer_check(text, e));
    end_format(text->data, text->size, end);
    bl_buffer_append(text, end, END_SIZE);
    return bl_buffer_check(text, e);
}

int bl_sealed_open(struct bl_buffer *text, const char *path, struct bl_error *e)
{
    /* A file that was cut anywhere fails this test, also one that is empty. */
    char end[END_SIZE + 1];
    bool good = text->size >= END_SIZE;
    if (good) {
        end_format(text->data, text->size - END_SIZE, end);
        good = memcmp(text->data + text->size - END_SIZE, end, END_SIZE) == 0;
    }
    if (!good)
        return bl_error_set(e, BL_EFAIL,
                            "%s was edited or damaged since it was written, or is of another version of bload "
                            "(restore it, or use another -o)",
                            path);
    text->size -= END_SIZE;
    text->data[text->size] = '\0';
    return BL_OK;
}

/* --- identity lines ----------------------------------------------------------------------------------------------- */

/* Options of a stage that this command does not use are idle and have no lines. */
void bl_options_mark_idle(struct bl_options *o, const void *values)
{
    for (int g = 0; g < o->groups; g++)
        o->idle[g] = o->idle[g] || o->group[g].values == values;
}

/* Values are escaped, so that each option has exactly one line. */
void bl_option_identity(const struct bl_option_group *group, const struct bl_option *option, struct bl_buffer *out)
{
    struct bl_buffer value = {0};
    bl_option_format(group, option, &value);
    bl_buffer_printf(out, "%s: ", option->name);
    bl_text_escape(out, value.data ? value.data : "", value.size);
    bl_buffer_byte(out, '\n');
    bl_buffer_free_part(&value, out);
}

/* An unlisted option is younger than datasets of earlier versions: at its default value it has no line, so that these
 * datasets keep their identity. */
bool bl_option_is_listed(const struct bl_option_group *group, const struct bl_option *option, struct bl_buffer *out)
{
    struct bl_buffer value = {0};
    if (!option->unlisted)
        return true;
    bl_option_format(group, option, &value);
    bool is_default = strcmp(value.data ? value.data : "", option->initial ? option->initial : "") == 0;
    bl_buffer_free_part(&value, out);
    return !is_default;
}

/* Appends the lines of the options that affect `affects`; BL_AFFECTS_NOTHING selects all options that affect something.
 */
void bl_options_identity_of(const struct bl_options *o, enum bl_affects affects, struct bl_buffer *out)
{
    for (struct bl_option_match m = {0}; bl_options_next(o, &m);) {
        const enum bl_affects own = m.option->affects;
        if (o->idle[m.group - o->group] || own == BL_AFFECTS_NOTHING || (affects && own != affects))
            continue;
        if (bl_option_is_listed(m.group, m.option, out))
            bl_option_identity(m.group, m.option, out);
    }
}

void bl_options_identity(const struct bl_options *o, struct bl_buffer *out)
{
    bl_options_identity_of(o, BL_AFFECTS_NOTHING, out);
}

/* --- comparing identities --------------------------------------------------------------------------------------- */

/* The name and value of a line "name: value". Both point into the text of the lines and have no NUL. */
struct pair {
    const char *name, *value;
    size_t name_size, value_size;
};

/* Parses the line at text and returns the start of the next one. A line without ": " is a name with an empty value. */
static const char *pair_parse(const char *text, struct pair *pair)
{
    const char *end = strchrnul(text, '\n'), *colon = memmem(text, (size_t)(end - text), ": ", 2);
    pair->name = text;
    pair->name_size = (size_t)((colon ? colon : end) - text);
    pair->value = colon ? colon + 2 : end;
    pair->value_size = (size_t)(end - pair->value);
    return *end ? end + 1 : end;
}

/* An identity has a line for each option, so that a linear search is enough. */
const char *bl_identity_value(const char *lines, const char *name, size_t name_size, size_t *size)
{
    struct pair pair;
    while (*lines) {
        lines = pair_parse(lines, &pair);
        if (pair.name_size == name_size && memcmp(pair.name, name, name_size) == 0) {
            *size = pair.value_size;
            return pair.value;
        }
    }
    return NULL;
}

/* Returns whether the lines contain this name with this value. */
static bool pair_is_in(const struct pair *pair, const char *lines)
{
    size_t size;
    const char *value = bl_identity_value(lines, pair->name, pair->name_size, &size);
    return value && size == pair->value_size && memcmp(value, pair->value, size) == 0;
}

/* Reports the line of this name: its value differs, or only one side has the line, which happens between versions. */
static int identity_differs_error(const char *what, const struct pair *pair, const char *there, const char *wanted,
                                  struct bl_error *e)
{
    size_t old_size = 0, new_size = 0;
    const char *old = bl_identity_value(there, pair->name, pair->name_size, &old_size);
    const char *new = bl_identity_value(wanted, pair->name, pair->name_size, &new_size);
    if (old && new)
        return bl_error_set(
            e, BL_EUSAGE,
            "%s of another configuration: %.*s is \"%.*s\" there, not \"%.*s\" (use the same options, or another -o)",
            what, (int)pair->name_size, pair->name, (int)old_size, old, (int)new_size, new);
    return bl_error_set(
        e, BL_EUSAGE,
        "%s of another configuration: %.*s is \"%.*s\" %s (use the same options and the same version of "
        "bload, or another -o)",
        what, (int)pair->name_size, pair->name, (int)pair->value_size, pair->value,
        old ? "there, and not recorded here" : "here, and not recorded there");
}

int bl_identity_compare(const char *there, const char *wanted, const char *what, struct bl_error *e)
{
    struct pair pair;
    if (strcmp(there, wanted) == 0)
        return BL_OK;
    /* The first difference is reported in the order of the options, and then lines that only the other side has. */
    for (const char *at = wanted; *at;) {
        at = pair_parse(at, &pair);
        if (!pair_is_in(&pair, there))
            return identity_differs_error(what, &pair, there, wanted, e);
    }
    for (const char *at = there; *at;) {
        at = pair_parse(at, &pair);
        if (!pair_is_in(&pair, wanted))
            return identity_differs_error(what, &pair, there, wanted, e);
    }
    return bl_error_set(e, BL_EUSAGE, "%s of another configuration (its lines are in another order)", what);
}

/* Compares only the lines that `there` has. Tasks and inputs belong to the scan and may differ: the same table can come
 * from another number of tasks. */
int bl_identity_within(const char *there, const char *wanted, const char *what, struct bl_error *e)
{
    struct pair pair;
    for (const char *at = there; *at;) {
        at = pair_parse(at, &pair);
        bool is_of_stage = (pair.name_size == 5 && memcmp(pair.name, "tasks", 5) == 0) ||
                           (pair.name_size == 6 && memcmp(pair.name, "inputs", 6) == 0);
        if (!is_of_stage && !pair_is_in(&pair, wanted))
            return identity_differs_error(what, &pair, there, wanted, e);
    }
    return BL_OK;
}
