/* What `bload show` draws: the steps of a block, or of a sequence, on an axis, with a lane for each field. A sheet is
 * written for a terminal, as a picture, as SVG, or as a page.
 *
 * The axis is broken into lines, as a text is, of the same number of steps each. A lane is drawn on one canvas, on
 * which the lines lie side by side: step s is at pixel s * width / line_steps. So lanes know nothing of lines, and the
 * writers (sheet_svg.c, sheet_terminal.c) cut lines out of the canvases.
 *
 * All that is drawn was compared with its checksum; a piece of which something is damaged is not drawn at all. */
#ifndef BL_SHEET_H
#define BL_SHEET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/cancel.h"
#include "show/canvas.h"
#include "show/passages.h"
#include "store/blocks.h"
#include "store/view.h"

/* --- sheet -------------------------------------------------------------------------------------------------------- */

/* A sequence of the block; or, where a sequence is shown, a part of it. */
struct bl_sheet_piece {
    int64_t start, end; /* steps of the axis */
    int64_t row;
    int64_t number;               /* of the piece in the index */
    int64_t source_start, length; /* its first step within the sequence; steps that this has */
    int64_t block, block_start;   /* where the plan has it */
    bool failed;                  /* while packing: its steps are zeros */
    char *id;
};

/* What lies on one line of the axis without a break. */
struct bl_sheet_span {
    int line, x, width; /* pixels of the line */
    int64_t piece;      /* -1: padding; of a sequence: what is not stored */
    bool begins;        /* the piece does, and does not go on from the line before */
};

/* How a lane draws its field. */
enum bl_lane_form {
    BL_LANE_PICTURES, /* the step in the middle of each cell */
    BL_LANE_CURVE,    /* least and greatest value of each column of pixels */
    BL_LANE_SPECTRUM, /* of sound, from 0 Hz at the bottom to half the rate */
    BL_LANE_MAP,      /* means of the values of a step, one above the other */
    BL_LANE_STRIP     /* a colour for each integer; 0 is paper */
};

struct bl_lane {
    int field;
    enum bl_lane_form form;
    struct bl_canvas canvas; /* [height, lines * width] */
    bool is_sound;           /* samples: around 0 */
    int64_t parts;           /* of a step that lie on the axis, one after the other: 1, or its samples */
    bool *damaged;           /* [pieces] */
    char note[72];           /* the range of the values; "" for pictures */
    int64_t strange;         /* values that are no numbers, or infinite */
};

/* The sizes that a writer wants. */
struct bl_sheet_look {
    int width;             /* of a line, at most, pixels */
    int cell;              /* width of a picture; if there are few, up to twice that */
    int pictures, lines;   /* at most; lines: without pictures */
    int curve, map, strip; /* heights */
    bool is_page;          /* a screen may be narrow: lines are of steps that can be cut into three parts */
};

#define BL_SHEET_ANY_BLOCK (-2) /* the first block of at least two sequences */

struct bl_sheet_subject {
    int64_t block; /* -1: the sequence; or BL_SHEET_ANY_BLOCK */
    int64_t row;   /* of the sequence */
    int field;     /* -1: all of them */
    int64_t epoch;
    bool is_brief;         /* without the texts of tokens, and with the beginnings of own texts */
    const char *mask;      /* the field whose steps shade tokens; NULL: one of the usual name, if there is one */
    const char *tokenizer; /* file; NULL: ids are decoded only if they are bytes */
    const struct bl_cancel *cancel;
};

struct bl_sheet {
    struct bl_view *view; /* not owned */
    struct bl_sheet_subject subject;
    struct bl_sheet_look look;
    int64_t steps;                /* of the axis */
    int64_t drawn;                /* of these: what follows is padding */
    struct bl_sheet_piece *piece; /* by start */
    size_t pieces, capacity;
    struct bl_sheet_span *span; /* in the order of the axis; none is narrower than a pixel */
    size_t spans, spans_capacity;
    int64_t line_steps;
    int lines, width;   /* width: of a line, pixels */
    int64_t cell_steps; /* of pictures; 0: there are none */
    int cell_width;
    struct bl_lane lane[2 * BL_FIELDS_MAX];
    int lanes;
    struct bl_passages passages[BL_FIELDS_MAX]; /* of fields with tokens, then of fields with steps of their own */
    int texts;
    bool suits;               /* the tokenizer of the subject suits a field */
    struct bl_error unsuited; /* why it does not suit a field, of other ids than bytes if there are some */
    struct bl_error damage;   /* the first that was found; code 0: none */
};

/* Reads and draws. BL_EUSAGE: there is no such block, epoch or mask; or the sequence is not stored. Damaged steps are
 * no error of this function. Free with bl_sheet_free, also after errors. */
int bl_sheet_make(struct bl_sheet *sheet, struct bl_view *view, const struct bl_sheet_subject *subject,
                  const struct bl_sheet_look *look, struct bl_error *e);
void bl_sheet_free(struct bl_sheet *sheet);

/* Makes a sheet of the same lanes whose lines are cut into a few equal parts, for narrow screens; or are as they are,
 * if they cannot be divided. The copy borrows everything from the sheet except its spans: free cut->span, also after an
 * error. BL_EFAIL: out of memory. */
int bl_sheet_cut_lines(const struct bl_sheet *sheet, struct bl_sheet *cut, struct bl_error *e);

/* The pixel at which a step begins, on a lane's canvas. */
int bl_sheet_pixel(const struct bl_sheet *sheet, int64_t step);

/* The width of a line in pixels: of the last one it may be less. */
int bl_sheet_line_width(const struct bl_sheet *sheet, int line);

/* The fewest steps of 1, 2 or 5 times a power of ten that take at least so many pixels. */
int64_t bl_sheet_tick(const struct bl_sheet *sheet, int pixels);

/* Appends a title, "block 3 of 120", and a sentence of what is in it. Ids are as they are: the caller escapes or masks
 * them. */
void bl_sheet_append_title(const struct bl_sheet *sheet, struct bl_buffer *out);
void bl_sheet_append_summary(const struct bl_sheet *sheet, struct bl_buffer *out);

/* Appends what a piece is called on the axis: its id, or the block that has it. */
void bl_sheet_append_label(const struct bl_sheet *sheet, const struct bl_sheet_piece *piece, struct bl_buffer *out);

/* Appends what follows the label of a piece above its text: its first step on the axis, or the number of its own
 * steps; and whether it failed, or is damaged. */
void bl_sheet_append_state(const struct bl_sheet *sheet, const struct bl_passages *passages, size_t piece,
                           struct bl_buffer *out);

/* Appends how many own steps the sheet has of a field, "61 of 80 steps of [24]": those of the block, and its capacity.
 */
void bl_sheet_append_fill(const struct bl_sheet *sheet, const struct bl_passages *passages, struct bl_buffer *out);

/* Returns how many pieces have passages of a field: all, but of the own steps of a sequence only the first, and those
 * of a brief sheet at most BL_SHEET_BRIEF. */
enum { BL_SHEET_BRIEF = 20 };
size_t bl_sheet_passages_pieces(const struct bl_sheet *sheet, const struct bl_passages *passages);

/* Returns whether a lane, or the own steps of a field, are damaged in a piece. */
bool bl_sheet_piece_is_damaged(const struct bl_sheet *sheet, size_t piece);

/* The field of a lane. */
const struct bl_field *bl_sheet_field(const struct bl_sheet *sheet, const struct bl_lane *lane);

/* --- parts of bl_sheet_make --------------------------------------------------------------------------------------- */

/* What bl_sheet_make (sheet_make.c) calls. */

/* Sets piece, pieces and steps. BL_EUSAGE: there is nothing of that subject. */
int bl_sheet_find_pieces(struct bl_sheet *sheet, struct bl_error *e);

/* Sets span: pieces and layout are there. */
int bl_sheet_find_spans(struct bl_sheet *sheet, struct bl_error *e);

/* Begins to read the steps of a piece that has not failed. *sequence: of the piece before, which was not damaged, of
 * the same field, so that the block that both are in is compared with its checksum only once; or {0}. BL_EDATA: they
 * are not stored. */
int bl_sheet_begin_piece(const struct bl_sheet *sheet, const struct bl_sheet_piece *piece, int field,
                         struct bl_stored_sequence *sequence, struct bl_error *e);

/* The same for some steps of the row of a piece. */
int bl_sheet_begin_steps(const struct bl_sheet *sheet, const struct bl_sheet_piece *piece, int field,
                         const struct bl_step_range *range, struct bl_stored_sequence *sequence, struct bl_error *e);

/* Opens the tokenizer that decodes the ids of a field, for the next passages. *out: NULL if it is not known. */
int bl_sheet_open_tokenizer(struct bl_sheet *sheet, int field, struct bl_detokenizer **out, struct bl_error *e);

/* Reads the passages of fields with steps of their own, after those of tokens. */
int bl_sheet_read_own(struct bl_sheet *sheet, struct bl_error *e);

/* Whether the code and error of a read are of damage, which then is noted, once, and *e is cleared. */
bool bl_sheet_note_damage(struct bl_sheet *sheet, int code, struct bl_error *e);

/* --- terminal ----------------------------------------------------------------------------------------------------- */

/* A sheet for a terminal: text as text, pictures in half blocks, or in letters where there are no colours. */

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

/* --- picture ------------------------------------------------------------------------------------------------------ */

/* A sheet as one picture without words. */

/* Draws the sheet on a new canvas. Free with bl_canvas_free, also after errors. */
int bl_sheet_rasterize(const struct bl_sheet *sheet, struct bl_canvas *canvas, struct bl_error *e);

/* --- SVG ---------------------------------------------------------------------------------------------------------- */

/* A sheet as SVG: axis, pieces and lanes, with words and embedded pictures. */

/* Appends a picture that can stand alone, with title and texts. */
int bl_sheet_append_svg(const struct bl_sheet *sheet, struct bl_buffer *out, struct bl_error *e);

/* Appends the style of the axis, for a page. */
void bl_sheet_append_style(struct bl_buffer *out);

/* --- page --------------------------------------------------------------------------------------------------------- */

/* A sheet as a page: the axis, the texts of tokens, and a table of the pieces for those who do not see pictures. */

/* Appends the page. path: of the dataset, as it was named. */
int bl_sheet_append_page(const struct bl_sheet *sheet, const char *path, struct bl_buffer *out, struct bl_error *e);

/* Appends the sheet as a part of another page, which has bl_sheet_append_style. id: unique on the page. */
int bl_sheet_append_section(const struct bl_sheet *sheet, const char *id, struct bl_buffer *out, struct bl_error *e);

#endif
