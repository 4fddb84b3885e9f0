/* A sheet for a terminal: text as text, pictures in half blocks, or in letters where there are no colours. */
#ifndef BL_SHEET_TERMINAL_H
#define BL_SHEET_TERMINAL_H

#include <stdbool.h>

#include "base/buffer.h"
#include "show/sheet.h"

enum bl_terminal_colours { BL_COLOURS_NONE, BL_COLOURS_256, BL_COLOURS_ALL };

struct bl_terminal {
    int columns;
    enum bl_terminal_colours colours;
    bool has_utf8;
};

/* The sizes that suit a terminal: a column is a pixel, a row two. */
struct bl_sheet_look bl_sheet_terminal_look(const struct bl_terminal *terminal);

/* Appends the sheet, which was made with these sizes. Names are masked. */
int bl_sheet_append_terminal(const struct bl_sheet *sheet, const struct bl_terminal *terminal, struct bl_buffer *out,
                             struct bl_error *e);

#endif
