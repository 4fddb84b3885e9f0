/* What bload doctor finds of Slurm, which only this folder runs. */
#ifndef BL_DOCTOR_SLURM_H
#define BL_DOCTOR_SLURM_H

#include "doctor/findings.h"

void bl_doctor_slurm(struct bl_findings *f);

#endif
