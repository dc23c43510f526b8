/* processwatch.c -- what the collector itself sees
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "monitor/processwatch.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/aver.h"
#include "monitor/procfs.h"
#include "monitor/sample.h"
#include "monitor/tree.h"
#include "plinth/clock.h"

struct WitnessStruct {
  Teller teller;           /* NULL: nothing is told */
  ProcStruct proc;
  Tree tree;               /* these two NULL: there is no /proc */
  Sample sample;
  Watch watch;             /* NULL: nobody watches */
};

Bool WitnessCheck(Witness witness)
{
  return (witness->tree == NULL) == (witness->sample == NULL) && (witness->tree == NULL || witness->teller != NULL);
}

/* witnessTells -- have something to tell */
static Res witnessTells(Witness witness, const WitnessSettingsStruct *settings)
{
  Res res;

  witness->teller = settings->teller;
  if (ProcInit(&witness->proc, "/proc", SampleKEEP) != ResOK)
    return ResOK;
  res = TreeCreate(&witness->tree, witness->teller, &witness->proc, settings->mark, settings->follow);
  if (res == ResOK) {
    res = SampleCreate(&witness->sample, witness->teller, &witness->proc, witness->tree, settings->interval);
    if (res == ResOK)
      return ResOK;
    TreeDestroy(witness->tree);
    witness->tree = NULL;
  }
  ProcFinish(&witness->proc);
  return res;
}

Res WitnessCreate(Witness *witnessReturn, const WitnessSettingsStruct *settings)
{
  Witness witness = calloc(1, sizeof *witness);
  Res res;

  if (witness == NULL)
    return ResMEMORY;
  if (settings->terminal >= 0 &&
      WatchCreate(&witness->watch, settings->terminal, EventClockMonotonic()) != ResOK)
    witness->watch = NULL;
  res = settings->teller != NULL ? witnessTells(witness, settings) : ResOK;
  if (res != ResOK) {
    WitnessDestroy(witness);
    return res;
  }
  AVER(WitnessCheck(witness));
  *witnessReturn = witness;
  return ResOK;
}

void WitnessDestroy(Witness witness)
{
  if (witness->tree != NULL) {
    SampleDestroy(witness->sample);
    TreeDestroy(witness->tree);
    ProcFinish(&witness->proc);
  }
  if (witness->teller != NULL)
    (void)TellerFlush(witness->teller);
  if (witness->watch != NULL)
    WatchDestroy(witness->watch);
  free(witness);
}

void WitnessProgram(Witness witness, pid_t pid)
{
  if (witness->tree != NULL)
    TreeAdd(witness->tree, (uint32_t)pid, TRUE);
}

void WitnessEnded(Witness witness, pid_t pid, int status)
{
  if (witness->tree != NULL)
    TreeEnded(witness->tree, (uint32_t)pid, status);
}

void WitnessMeet(Witness witness, pid_t pid, RegionMeet its)
{
  TreeMetStruct met = {.pid = (uint32_t)pid, .stack = its->stack, .name = its->name, .program = its->program};

  if (witness->tree != NULL)
    TreeMeet(witness->tree, &met);
}

uint64_t WitnessPoll(Witness witness, uint64_t now, WatchCounts counts)
{
  uint64_t due = UINT64_MAX, its;

  if (witness->sample != NULL)
    due = SamplePoll(witness->sample, now);
  if (witness->teller != NULL) {
    its = TellerPoll(witness->teller, now);
    due = its < due ? its : due;
  }
  if (witness->watch != NULL) {
    its = WatchPoll(witness->watch, now, counts, witness->tree != NULL ? TreeResident(witness->tree) : 0);
    due = its < due ? its : due;
  }
  return due;
}
