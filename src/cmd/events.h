/* Prints what packing reports: faults, progress and messages. */
#ifndef BL_EVENTS_H
#define BL_EVENTS_H

#include "cmd/fault_lines.h"
#include "cmd/progress_bar.h"
#include "packing/packing.h"

struct bl_event_printer {
    struct bl_fault_lines *faults; /* printed before */
    struct bl_progress_bar bar;
};

/* Returns the printing functions; they are valid as long as the printer. */
struct bl_packing_events bl_event_printer_events(struct bl_event_printer *printer);

#endif
