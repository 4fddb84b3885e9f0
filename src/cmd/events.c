#include "cmd/events.h"

static void printer_on_fault(void *sink, const struct bl_row *row)
{
    struct bl_event_printer *printer = sink;
    bl_progress_bar_clear(&printer->bar);
    bl_fault_lines_print(printer->faults, row);
}

static void printer_on_progress(void *sink, const struct bl_progress *progress)
{
    struct bl_event_printer *printer = sink;
    bl_progress_bar_tick(&printer->bar, progress);
}

static void printer_on_progress_end(void *sink)
{
    struct bl_event_printer *printer = sink;
    bl_progress_bar_end(&printer->bar);
}

static void printer_on_message(void *sink, bool important, const char *text)
{
    struct bl_event_printer *printer = sink;
    if (printer->bar.quiet && !important)
        return;
    bl_progress_bar_clear(&printer->bar);
    bl_cmd_print("%s", text);
}

struct bl_packing_events bl_event_printer_events(struct bl_event_printer *printer)
{
    return (struct bl_packing_events){.sink = printer,
                                      .fault = printer_on_fault,
                                      .progress = printer_on_progress,
                                      .progress_end = printer_on_progress_end,
                                      .message = printer_on_message};
}
