/* A condition on a column of the table of sequences: "length >= 30", "speaker != s3", "id ~ train/?*". */
#ifndef BL_CONDITION_H
#define BL_CONDITION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

enum bl_comparison {
    BL_COMPARE_EQUAL,
    BL_COMPARE_UNEQUAL,
    BL_COMPARE_LESS,
    BL_COMPARE_AT_MOST,
    BL_COMPARE_GREATER,
    BL_COMPARE_AT_LEAST,
    BL_COMPARE_GLOB
};

/* The value of a text that is a decimal number. */
struct bl_decimal {
    bool is_number, is_whole;
    int64_t whole; /* is_whole: exact, as ids may have more digits than a double */
    double value;
};

struct bl_condition {
    char *text; /* column and value, with a NUL after each */
    const char *column, *value;
    enum bl_comparison comparison;
    struct bl_decimal number; /* of the value */
};

/* Parses "COLUMN OP VALUE", with or without spaces around OP. BL_EUSAGE: malformed, or < <= > >= without a number. To
 * be freed also after an error. */
int bl_condition_parse(struct bl_condition *condition, const char *text, struct bl_error *e);
void bl_condition_free(struct bl_condition *condition);

/* Whether a value of the column fulfils it. *no_number: a number is needed, and the value is none. */
bool bl_condition_holds(const struct bl_condition *condition, const char *value, bool *no_number);

#endif
