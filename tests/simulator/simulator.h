/* A device that is simulated by the processor, for tests: a back end of gpu/device.h.  Items of a group are
 * fibers, which change at barriers.  Two kinds: one finds what lies out of bounds, by the sanitizers that
 * its kernels are compiled with; the other finds races.  Both find barriers that not all items of a group
 * come to.  A finding lets the launch fail with a sentence; what the sanitizers find ends the program. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_SIMULATOR_H
#define SDM_SIMULATOR_H

#include "gpu/device_inside.h"

enum SdmSimulated { SDM_SIM_BOUNDS, SDM_SIM_RACES };

/* The simulator takes the place of all devices from now on. */
void sdm_simulate(enum SdmSimulated kind);
/* The first kernel of the device's that was not launched yet and whose name does not begin so; NULL: there
 * is none. */
const char *sdm_sim_not_launched(const char *but);

/* ---- for the kernels ---- */

int sdm_sim_item(int axis);
int sdm_sim_group(int axis);
int sdm_sim_items(int axis);
void sdm_sim_barrier(const char *file, int line, bool global);
/* Atomic operations on 32 bits: the value before. */
uint32_t sdm_sim_exchange(void *p, uint32_t v);
uint32_t sdm_sim_add(void *p, uint32_t v);
uint32_t sdm_sim_min(uint32_t *p, uint32_t v);

/* ---- for the calls that simulated_calls.py writes ---- */

typedef struct SdmSimKernel {
    const char *name;
    int count; /* of arguments */
    void (*call)(const SdmArg *a);
} SdmSimKernel;
extern const SdmSimKernel sdm_sim_kernels_bounds[], sdm_sim_kernels_races[]; /* the last one has no name */

/* Argument i, which must be of that kind. */
void *sdm_sim_pointer(const SdmArg *a, int i);
int32_t sdm_sim_int(const SdmArg *a, int i);
int64_t sdm_sim_long(const SdmArg *a, int i);
float sdm_sim_float(const SdmArg *a, int i);

/* ---- races (simulated_races.c) ---- */

/* What was done to a byte last. */
typedef struct SdmTouched {
    uint32_t wrote, read;    /* interval between barriers; 0: never */
    uint16_t writer, reader; /* item */
} SdmTouched;

/* Memory that items of a launch share. */
typedef struct SdmShared {
    const char *name;
    uintptr_t begin, end;
    SdmTouched *touched; /* of each byte */
    bool local;
} SdmShared;

/* The state that kernels, scheduler and the check for races share. */
typedef struct SdmSimulation {
    bool races;                       /* to be looked for */
    int item;                         /* that runs, of all of the group; -1: none */
    uint32_t launch, group;           /* interval with which they began */
    uint32_t now[2];                  /* interval: of global memory, of local */
    uintptr_t stack_begin, stack_end; /* of all items */
    int count;
    SdmShared shared[1024]; /* the last one used is first */
    char finding[512];      /* the first; "": none */
    void *found_at;         /* in the code; NULL: not told */
} SdmSimulation;
extern SdmSimulation sdm_sim;

/* Note a finding, unless there is one. */
void sdm_sim_find(void *pc, const char *format, ...) __attribute__((format(printf, 2, 3)));
void sdm_races_add(const char *name, void *p, size_t bytes, bool local);
void sdm_races_remove(const void *p);
/* The host has written there. */
void sdm_races_set(const void *p, size_t bytes);
/* An item does something there; pc: where in its code. */
void sdm_races_atomic(void *p, size_t bytes, void *pc);

#endif
