/* Records: the elements of a JSON array, and the rows of CSV or TSV (RFC 4180). Where one ends can be told only from
 * where it begins, and where it begins only from all that is before it in the file. */
#ifndef BL_RECORDS_H
#define BL_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* The scan of one record: {0} at its first byte. */
struct bl_record_scan {
    int64_t depth;        /* of brackets that are open */
    bool quoted, escaped; /* within a string; behind a backslash in it */
    int state;            /* within a row */
    int64_t lines;        /* line ends so far, of a row */
};

/* Scans an element of an array on, from text[from] up to text[size]. True: it ends before text[*stop]. A string ends
 * with its line, at the latest: JSON has no line ends in strings. */
bool bl_record_element_end(struct bl_record_scan *s, const char *text, size_t from, size_t size, size_t *stop);

/* Scans a row on. True: it ends before text[*stop], and the next may begin at text[*next]. Lines end with \n, \r\n or
 * \r; those in quotes belong to the value. */
bool bl_record_row_end(struct bl_record_scan *s, char mark, const char *text, size_t from, size_t size, size_t *stop,
                       size_t *next);

/* Whether the row that was scanned up to the end of the file ends with a \r that is not its own. */
bool bl_record_row_has_return(const struct bl_record_scan *s);

/* The mark between two values of a CSV, by its first line: a comma, or else a semicolon or a tab that stands there
 * outside quotes. */
char bl_record_find_mark(const char *text, size_t size);

struct bl_record_value {
    const char *text; /* in the row, without the quotes around it */
    size_t size;
    bool doubled;      /* there are doubled quotes in it */
    const char *fault; /* what is wrong with it, and what to do; or NULL */
};

/* Reads the value at *at of a row, from 0 on, and moves *at to the next one. False: there is none, as after a fault. */
bool bl_record_next_value(const char *row, size_t size, char mark, size_t *at, struct bl_record_value *value);

/* Where records of files begin, as far as it is known: whoever looks for the first record of a part begins at the last
 * one known before it. For many threads. */
struct bl_record_places;

struct bl_record_place {
    int64_t offset; /* 0: the beginning of the file */
    int64_t line;   /* from 1; of a row */
};

int bl_record_places_open(struct bl_record_places **places, struct bl_error *e);
void bl_record_places_close(struct bl_record_places *places); /* or NULL */
void bl_record_places_add(struct bl_record_places *places, const char *path, const struct bl_record_place *place);

/* The last place at or before offset. */
struct bl_record_place bl_record_places_find(struct bl_record_places *places, const char *path, int64_t offset);

#endif
