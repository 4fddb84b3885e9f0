/* Options: each stage has one table, from which flags, YAML keys, --help, --print-config and the lines that
 * identify a dataset (base/checksum.h) come.
 *
 * A stage declares `const struct bl_option its_options[]`, ended by an entry without a name, over a plain struct. A
 * command binds tables to structs as groups, and then reads the values from those structs, which stay const from then
 * on. A table's entry:
 *
 *     BL_OPTION_INT("stride", struct bl_video_config, stride, BL_AFFECTS_LENGTHS, "take every N-th frame",
 *                   .initial = "1", .min = 1),
 */
#ifndef BL_OPTION_H
#define BL_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"

/* What a change of an option's value changes: the table of sequences, the plan, or only the bytes. Everything but
 * NOTHING is part of the dataset's identity. */
enum bl_affects { BL_AFFECTS_NOTHING, BL_AFFECTS_LENGTHS, BL_AFFECTS_PLAN, BL_AFFECTS_BYTES };

struct bl_option;

/* How a value is parsed from text and formatted; format(parse(x)) is the canonical form of x. */
struct bl_option_type {
    const char *placeholder; /* in --help, unless the option has one */
    bool (*parse)(const struct bl_option *option, const char *text, void *value);
    void (*format)(const struct bl_option *option, const void *value, struct bl_buffer *out);
    const char *expects; /* in error messages: "expects ..." */
};

struct bl_option {
    const char *name; /* long flag and YAML key */
    char letter;      /* short flag, or 0 */
    const struct bl_option_type *type;
    const char *initial; /* default as text; NULL: zero bytes ("not set") */
    const char *help;    /* one phrase without line breaks and full stop */
    enum bl_affects affects;
    size_t offset;              /* of the value in the stage's struct */
    const char *placeholder;    /* or NULL */
    const char *const *choices; /* BL_OPTION_CHOICE: ended by NULL */
    /* Of BL_OPTION_PATH, or NULL: whether text, where there is no such file, names something else. */
    bool (*is_name)(const char *text);
    int64_t min, max; /* BL_OPTION_INT; max 0: INT64_MAX */
    size_t repeats;   /* bytes of a value to which each flag adds one; 0: the last flag counts */
    /* The conditions under which the option has an effect, or NULL: always. They are separated by commas, and all of
     * them must hold: "strategy=sample|mix" (one of these values), "size" (the option is set), "world-size/batch-size"
     * (one of them is set). A condition on an option that the command does not have always holds. */
    const char *only;
    bool command_line_only; /* has no meaning in a YAML file (--config, --help) */
    bool unlisted;          /* younger than datasets of older versions: its default has no line in the identity */
};

struct bl_rational {
    int64_t num, den; /* den 0: not set */
};

#define BL_TEXTS_MAX 64

struct bl_texts {
    const char *text[BL_TEXTS_MAX]; /* must live as long as the object; they are not copied */
    int count;
};

struct bl_dimensions {
    int width, height; /* 0: not set */
};

extern const struct bl_option_type bl_option_flag;       /* bool */
extern const struct bl_option_type bl_option_int;        /* int64_t */
extern const struct bl_option_type bl_option_uint;       /* uint64_t, any 64-bit value: seeds */
extern const struct bl_option_type bl_option_bytes;      /* int64_t */
extern const struct bl_option_type bl_option_choice;     /* int: index into choices */
extern const struct bl_option_type bl_option_string;     /* const char *: not copied, so the text must live on */
extern const struct bl_option_type bl_option_texts;      /* struct bl_texts: one text each time the option is given */
extern const struct bl_option_type bl_option_path;       /* const char *: a file name, or one of choices */
extern const struct bl_option_type bl_option_rational;   /* struct bl_rational, > 0: 25, 12.5, 30000/1001 */
extern const struct bl_option_type bl_option_dimensions; /* struct bl_dimensions: 224x224 */

/* Table entries, by the type of the member that holds the value; a member of another type does not compile. Arguments:
 * the name, the struct and its member, what the option affects, the help, and further members of struct bl_option
 * (".initial = ..."). */
#define BL_OPTION_FLAG(name_, struct_, member_, affects_, ...)                                                         \
    BL_OPTION_CUSTOM(name_, &bl_option_flag, bool, struct_, member_, affects_, __VA_ARGS__)
#define BL_OPTION_INT(name_, struct_, member_, affects_, ...)                                                          \
    BL_OPTION_CUSTOM(name_, &bl_option_int, int64_t, struct_, member_, affects_, __VA_ARGS__)
#define BL_OPTION_UINT(name_, struct_, member_, affects_, ...)                                                         \
    BL_OPTION_CUSTOM(name_, &bl_option_uint, uint64_t, struct_, member_, affects_, __VA_ARGS__)
#define BL_OPTION_BYTES(name_, struct_, member_, affects_, ...)                                                        \
    BL_OPTION_CUSTOM(name_, &bl_option_bytes, int64_t, struct_, member_, affects_, __VA_ARGS__)
#define BL_OPTION_STRING(name_, struct_, member_, affects_, ...)                                                       \
    BL_OPTION_CUSTOM(name_, &bl_option_string, const char *, struct_, member_, affects_, __VA_ARGS__)
#define BL_OPTION_PATH(name_, struct_, member_, affects_, ...)                                                         \
    BL_OPTION_CUSTOM(name_, &bl_option_path, const char *, struct_, member_, affects_, __VA_ARGS__)
#define BL_OPTION_TEXTS(name_, struct_, member_, affects_, ...)                                                        \
    BL_OPTION_CUSTOM(name_, &bl_option_texts, struct bl_texts, struct_, member_, affects_, __VA_ARGS__,                \
                     .repeats = sizeof(struct bl_texts))
#define BL_OPTION_RATIONAL(name_, struct_, member_, affects_, ...)                                                     \
    BL_OPTION_CUSTOM(name_, &bl_option_rational, struct bl_rational, struct_, member_, affects_, __VA_ARGS__)
#define BL_OPTION_DIMENSIONS(name_, struct_, member_, affects_, ...)                                                   \
    BL_OPTION_CUSTOM(name_, &bl_option_dimensions, struct bl_dimensions, struct_, member_, affects_, __VA_ARGS__)
/* The value is an int, or an enum without negative values: the index into choices_. */
#define BL_OPTION_CHOICE(name_, struct_, member_, choices_, affects_, ...)                                                  \
    {                                                                                                                       \
        .name = (name_),                                                                                                  \
     .type = &bl_option_choice,                                                                                        \
     .offset = _Generic(&((struct_ *)0)->member_,                                                                      \
         int *: offsetof(struct_, member_),                                                                            \
         unsigned *: offsetof(struct_, member_)),                                                                      \
     .choices = (choices_),                                                                                            \
     .affects = (affects_),                                                                                            \
     .help = __VA_ARGS__ \
    }
/* An option of a stage's own type, whose values have the C type value_. */
#define BL_OPTION_CUSTOM(name_, type_, value_, struct_, member_, affects_, ...)                                        \
    {                                                                                                                  \
        .name = (name_), .type = (type_),                                                                              \
        .offset = _Generic(&((struct_ *)0)->member_, value_ *                                                          \
                           : offsetof(struct_, member_)),                                                              \
        .affects = (affects_), .help = __VA_ARGS__                                                                     \
    }

#define BL_OPTION_GROUPS_MAX 20

struct bl_option_group {
    const char *title; /* in --help; NULL: options of another command, accepted in YAML but not as flags */
    const struct bl_option *options;
    void *values;
};

/* Where a value came from; a stronger origin, later in this list, wins. */
enum bl_origin { BL_ORIGIN_DEFAULT, BL_ORIGIN_FILE, BL_ORIGIN_FLAG };

/* A command's options and operands. */
struct bl_options {
    struct bl_option_group group[BL_OPTION_GROUPS_MAX];
    int groups;
    bool idle[BL_OPTION_GROUPS_MAX]; /* the group does not apply to this run, and its options are not part of the
                                        identity */
    unsigned char *origin;           /* enum bl_origin of each option, in order of the groups */
    const char **operand;            /* arguments that are not options, in order; they point into argv */
    int operands;
};

/* Binds a table to its values and sets the defaults; title as in struct bl_option_group. Two groups with the same
 * option are a programming error (tested). */
int bl_options_add(struct bl_options *o, const char *title, const struct bl_option *table, void *values,
                   struct bl_error *e);
void bl_options_free(struct bl_options *o);

/* Parses the arguments after the command's name. BL_EUSAGE names the flag and what it expects. */
int bl_options_parse(struct bl_options *o, int argc, char **argv, struct bl_error *e);

/* Sets an option by name, unless a stronger origin has set it. BL_EUSAGE: an unknown option, or an invalid value. */
int bl_options_set(struct bl_options *o, const char *name, const char *text, enum bl_origin origin, struct bl_error *e);

/* An option of a group, and its place in bl_options.origin. */
struct bl_option_match {
    const struct bl_option_group *group;
    const struct bl_option *option;
    int index;
};

/* Goes on to the next option in table order; begin with {0}. False: there is none. */
bool bl_options_next(const struct bl_options *o, struct bl_option_match *match);

/* Finds an option by a name of size bytes. */
bool bl_options_find(const struct bl_options *o, const char *name, size_t size, struct bl_option_match *match);

/* Finds an option by a name of size bytes among the flags of this command. */
bool bl_options_find_flag(const struct bl_options *o, const char *name, size_t size, struct bl_option_match *match);

/* Whether the named option may be given more than once. */
bool bl_options_repeats(const struct bl_options *o, const char *name);

/* The origin of the named option's value (BL_ORIGIN_DEFAULT for an unknown option). */
enum bl_origin bl_options_origin(const struct bl_options *o, const char *name);

/* Refuses a flag that has no effect with the values of the others (struct bl_option.only), after all options are read.
 * Values from a file are accepted, since they may be meant for another command. BL_EUSAGE. */
int bl_options_check(const struct bl_options *o, struct bl_error *e);

/* Appends the choices of an option, separated by separator. */
void bl_option_append_choices(const struct bl_option *option, const char *separator, struct bl_buffer *out);

/* Appends the present value of an option in canonical form; nothing if it is not set. */
void bl_option_format(const struct bl_option_group *group, const struct bl_option *option, struct bl_buffer *out);

#endif
