/* Draws the steps of a field, as they are read, into the canvas of its lane, for all lanes except pictures. */
#ifndef BL_PAINTER_H
#define BL_PAINTER_H

#include <stdint.h>

#include "base/error.h"
#include "show/sheet.h"

struct bl_painter {
    const struct bl_sheet *sheet;
    struct bl_lane *lane;
    const struct bl_field *field;
    const struct bl_painter_method *method;
    void *state;     /* of the method, one allocation; or NULL */
    int columns;     /* of pixels: those of the canvas */
    int64_t strange; /* values that are no numbers, or infinite */
};

/* How a lane is drawn. Functions other than put and finish may be NULL. */
struct bl_painter_method {
    int (*begin)(struct bl_painter *p, struct bl_error *e);
    /* Takes the next steps, which begin at this step of the axis. */
    int (*put)(struct bl_painter *p, int64_t at, const uint8_t *data, int64_t steps, struct bl_error *e);
    /* The piece ends before this step. */
    void (*end_piece)(struct bl_painter *p, int64_t end);
    /* Forgets the piece that ended, which is in columns first to end - 1. */
    void (*erase)(struct bl_painter *p, int first, int end);
    /* Draws, and sets the note. */
    int (*finish)(struct bl_painter *p, struct bl_error *e);
    /* Frees what the state owns, but not the state. */
    void (*close)(struct bl_painter *p);
};

extern const struct bl_painter_method bl_painter_curve, bl_painter_spectrum, bl_painter_map, bl_painter_strip;

/* The columns of pixels that a part of a step covers, at least one. part: counted from the beginning of the axis;
 * parts: of a step, 1 for all of it. */
void bl_painter_cover(const struct bl_painter *p, int64_t part, int64_t parts, int *first, int *end);

#endif
