/* predict.c -- what the whole program would take with another allocator: its processor time, its resident peak
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "replay/predict.h"

#include <string.h>

#include "base/aver.h"

/* The model's errors, by which ranges are wider than the measurement: design/replayer.md .predict.range */
#define predictSLOPE   0.2  /* of a difference between two allocators in processor time, and */
#define predictCALLS   0.35 /* of the same, where no objects were read */
#define predictREADS   0.7  /* times the difference in reading objects are in that of the program; */
#define predictMOST    2    /* so often at most, and not at all at least */
#define predictFLOOR   0.02 /* of the program's processor time */
#define predictPEAK    0.03 /* of the program's resident peak */
#define predictTHREADS 0.15 /* of the same, and */
#define predictWAITING 0.05 /* of its processor time, where several threads allocate: they meet otherwise in each run */
#define predictSAMPLED 0.01 /* of the same: it was sampled */
#define predictSPREAD  0.25 /* of a difference between two allocators in resident bytes */
#define predictLARGE   0.25 /* of large objects of which it is not known how much was touched */
#define predictLIBRARY 524288 /* resident bytes of the recording's library itself, give or take as many */
#define predictNOW     0.05 /* of the program's processor time: two runs of it differ by as much, at least */
#define predictLEAST   0.3  /* of what the recorded program took: without recording it took as much, at least */
#define predictMISSING 0.01 /* of its operations: with more events missing, a replay is not what the program did */
#define predictTIMES   3    /* as much processor time as the program takes a replay, at most */
#define predictMEMORY  1.25 /* as much memory as the program, and so many bytes more: */
#define predictSPARE   (4 << 20)
#define predictRECORD  45e-9 /* seconds that recording an operation takes the program ... */
#define predictUNSURE  30e-9 /* ... give or take */

enum { predictSAMPLE = TypeCacheCLIENT, predictREGION, predictPEAKED, predictSTART, predictALONE };

static const TypeCacheKnownStruct predictKnown[] = {
  {"ProcessSample", predictSAMPLE, {"PAWU pid", "PAWU resident", "PAWU user", "PAWU system"}},
  {"ProcessPeak", predictPEAKED, {"PAWU resident"}}, /* of the process that tells it */
  {"ProcessRegion", predictREGION, {"PAWU pid", "PAWU bytes"}}, /* told before a sample */
  {"ProcessStart", predictSTART, {"PAWU parent"}},
  {"ProcessBaseline", predictALONE, {"PAWU pid", "PAWU user", "PAWU system", "PAWU resident"}}, /* told at the end */
};

static double predictMost(double a, double b)
{
  return a > b ? a : b;
}

static double predictSize(double a)
{
  return a < 0 ? -a : a;
}

/* ---- What the program took ---- */

void PredictInit(Predict predict)
{
  *predict = (PredictStruct){.process = NULL};
  TypeCacheInit(&predict->types, sizeof(TypeCacheTellStruct));
}

void PredictFinish(Predict predict)
{
  TypeCacheFinish(&predict->types);
}

/* predictBegan -- when it was one of the log's processes: there its header block was made, right after exec */
static uint64_t predictBegan(Log log, LogProcess process)
{
  return process->header.syncs == 0 ? 0 : LogTime(log, process->number, process->header.sync[0].ticks);
}

/* predictSpan -- from when to when the process's number is its: after an exec it is another process of the log */
static void predictSpan(Predict predict, Log log, LogProcess process)
{
  uint64_t its = predictBegan(log, process);
  Index i;

  predict->from = 0;
  predict->to = UINT64_MAX;
  for (i = 0; i < LogProcesses(log); ++i) {
    LogProcess other = LogProcessAt(log, i);
    uint64_t began;
    if (other == process || other->header.pid != process->header.pid ||
        strcmp(other->header.boot, process->header.boot) != 0)
      continue;
    began = predictBegan(log, other);
    if (began <= its)
      predict->from = its;
    else if (began < predict->to)
      predict->to = began;
  }
  predict->shared = predict->from > 0 || predict->to < UINT64_MAX;
}

void PredictBegin(Predict predict, Log log, LogProcess process)
{
  predict->process = process;
  if (process != NULL)
    predictSpan(predict, log, process);
  predict->known = predict->family = predict->threads = FALSE;
  predict->stranger = NULL;
  predict->before = predict->cpu = predict->peak = predict->alone = predict->alonePeak = 0;
  predict->region = 0;
}

Bool PredictWants(EventType type)
{
  return TypeCacheKnows(type, predictKnown, ARRAY_LENGTH(predictKnown));
}

/* predictPeak -- so much was resident, the recording's among it; returns the rest */
static uint64_t predictPeak(Predict predict, uint64_t bytes)
{
  bytes = bytes > predict->region ? bytes - predict->region : 0;
  predict->peak = predictMost(predict->peak, (double)bytes);
  return bytes;
}

/* predictSample -- its number had taken so many us of processor time at this time, and had so many bytes resident;
 * returns those of the process */
static uint64_t predictSample(Predict predict, uint64_t time, uint64_t cpu, uint64_t resident)
{
  double seconds = (double)cpu / 1e6;

  if (time < predict->from) {
    predict->before = seconds;
    return 0;
  }
  predict->known = TRUE;
  predict->cpu = predictMost(predict->cpu, predictMost(seconds - predict->before, 0));
  return predictPeak(predict, resident);
}

/* predictAlone -- the second run took so many us, and had so many bytes resident */
static void predictAlone(Predict predict, uint64_t time, uint64_t resident)
{
  if (predict->family || predict->shared)
    return;
  predict->alone = (double)time / 1e6;
  predict->alonePeak = (double)resident;
}

uint64_t PredictEvent(Predict predict, LogEvent event)
{
  TypeCacheTell tell = TypeCacheTells(&predict->types, event, predictKnown, ARRAY_LENGTH(predictKnown));
  LogProcess process = predict->process;
  uint64_t first;

  if (tell == NULL || tell->tells == TypeCacheNOTHING || process == NULL)
    return 0;
  first = LogEventWord(event, (Index)tell->param[0]);
  if (tell->tells == predictPEAKED) {
    if (event->process == process)
      (void)predictPeak(predict, first);
    return 0;
  }
  if (first != process->header.pid || strcmp(event->process->header.boot, process->header.boot) != 0 ||
      event->time >= predict->to)
    return 0;
  switch (tell->tells) {
  case predictREGION:
    predict->region = LogEventWord(event, (Index)tell->param[1]);
    return 0;
  case predictSTART:
    predict->family |= event->time >= predict->from;
    return 0;
  case predictALONE:
    predictAlone(predict, LogEventWord(event, (Index)tell->param[1]) + LogEventWord(event, (Index)tell->param[2]),
                 LogEventWord(event, (Index)tell->param[3]));
    return 0;
  default:
    return predictSample(predict, event->time,
                         LogEventWord(event, (Index)tell->param[2]) + LogEventWord(event, (Index)tell->param[3]),
                         LogEventWord(event, (Index)tell->param[1]));
  }
}

/* ---- With which allocator it was recorded ---- */

/* predictPools -- pools of malloc, of our classes and of others; returns the class of malloc's, or NULL */
static const char *predictPools(Script script, Count *mallocs, Count *ours, Count *others)
{
  const char *class, *its = NULL;
  Index i;

  *mallocs = *ours = *others = 0;
  for (i = 0; (class = ScriptRecordedClass(script, i)) != NULL; ++i) {
    if (class[0] == '\0' || (strncmp(class, "malloc", 6) == 0 && (class[6] == '\0' || class[6] == ':'))) {
      its = class[0] == '\0' ? its : class; /* a log may begin behind the creation of malloc's */
      ++*mallocs;
    } else if (strcmp(ScriptPoolClass(class), class) == 0) {
      ++*ours;
    } else {
      ++*others;
    }
  }
  return its;
}

const char *PredictRecorded(Predict predict, Script script)
{
  Count mallocs, ours, others;
  const char *class = predictPools(script, &mallocs, &ours, &others), *name;

  predict->stranger = NULL;
  if (others > 0 || (mallocs > 0 && ours > 0)) {
    predict->stranger = "it has pools of its own, and what these cost it is not known";
  } else if (ours > 0) { /* our malloc is one pool; and a run unrecorded has libc's, unless the program makes the pools */
    if (predict->alone <= 0)
      return "pawprint";
    if (ours > 1)
      predict->stranger = "it may have pools of its own, and what these cost it is not known";
  } else if (class != NULL && class[6] == ':') {
    name = AllocatorOf(class + 7);
    if (name != NULL)
      return name;
    predict->stranger = "it was recorded with another malloc than those that are known";
  }
  return "libc";
}

/* ---- What it would take ---- */

/* predictChance -- by which part of its processor time a run of the program may differ from the one that is known: on
 * this machine so do the replays with the allocator that it had */
static double predictChance(const MeasureStruct *measure)
{
  const uint64_t *cpu = measure->measured[measure->reference].cpu;
  uint64_t low = cpu[0], high = cpu[0];
  Index i;

  for (i = 1; i < measure->rounds; ++i) {
    low = cpu[i] < low ? cpu[i] : low;
    high = cpu[i] > high ? cpu[i] : high;
  }
  return high == 0 ? predictNOW : predictMost(predictNOW, (double)(high - low) / ((double)high + (double)low));
}

/* predictNow -- the program's processor time: of its run unrecorded, or without what recording took, which is not all
 * of it */
static MeasureRangeStruct predictNow(const PredictStruct *predict, const MeasureStruct *measure)
{
  double recorded = (double)predict->operations, least = predict->cpu * predictLEAST, chance = predictChance(measure);

  if (predict->alone > 0)
    return (MeasureRangeStruct){.low = predict->alone * (1 - chance), .middle = predict->alone,
                                .high = predict->alone * (1 + chance)};
  return (MeasureRangeStruct){
    .low = predictMost(predict->cpu - recorded * (predictRECORD + predictUNSURE), least) * (1 - chance),
    .middle = predictMost(predict->cpu - recorded * predictRECORD, least),
    .high = predictMost(predict->cpu - recorded * (predictRECORD - predictUNSURE), least) * (1 + chance),
  };
}

/* predictReads -- ns by which reading objects takes the program more with `this` than with `that`, if it does so as
 * often as the replay; it has no more time for that than it takes outside of its allocator */
static MeasureRangeStruct predictReads(const PredictStruct *predict, const MeasureStruct *measure, Index this,
                                       Index that)
{
  const PlayResultStruct *recorded = &measure->measured[measure->reference].median;
  MeasureRangeStruct range = MeasureVisits(measure, this, that);
  double own = predictMost(predictNow(predict, measure).middle * 1e9 - (double)recorded->cpu, 0), reads = (double)recorded->visits;
  double part = reads > own ? own / reads : 1;

  return (MeasureRangeStruct){.low = part * range.low, .middle = part * range.middle, .high = part * range.high};
}

/* predictDifference -- seconds of processor time by which `this` takes more than `that`, with the model's error */
static MeasureRangeStruct predictDifference(const PredictStruct *predict, const MeasureStruct *measure, Index this,
                                            Index that)
{
  MeasureRangeStruct calls = MeasureCpu(measure, this, that), reads = predictReads(predict, measure, this, that);
  double least = predictNow(predict, measure).middle * (predict->threads ? predictWAITING : predictFLOOR) * 1e9;
  double slope = measure->measured[measure->reference].median.visits > 0 ? predictSLOPE : predictCALLS;
  double error = this == that ? 0 : predictMost(predictSize(calls.middle) * slope, least);

  return (MeasureRangeStruct){.low = (calls.low - predictMost(-reads.low * predictMOST, 0) - error) / 1e9,
                              .middle = (calls.middle + reads.middle * predictREADS) / 1e9,
                              .high = (calls.high + predictMost(reads.high * predictMOST, 0) + error) / 1e9};
}

/* predictResident -- resident bytes of the program, with the allocator that it had.  Of several threads that allocate
 * each run has another peak: then its run recorded and the one unrecorded are two of them. */
static MeasureRangeStruct predictResident(const PredictStruct *predict)
{
  double recorded = predictMost(predict->peak - predictLIBRARY, predict->peak * predictLEAST);
  double error = predict->peak * predictSAMPLED, its = predict->alonePeak > 0 ? predict->alonePeak : recorded;

  if (predict->alonePeak <= 0)
    error += predict->peak - recorded;
  if (predict->threads && predict->alonePeak > 0)
    error = predictMost(error, predictSize(predict->alonePeak - recorded));
  return (MeasureRangeStruct){.low = its - error, .middle = its, .high = its + error};
}

/* predictMore -- resident bytes by which `this` takes more than `that`, with the model's error */
static MeasureRangeStruct predictMore(const PredictStruct *predict, const MeasureStruct *measure, Index this, Index that)
{
  MeasureRangeStruct more = MeasurePeak(measure, this, that);
  double least = predict->peak * (predict->threads ? predictTHREADS : predictPEAK);
  double error = this == that ? 0 : predictMost(predictSize(more.middle) * predictSPREAD, least);

  error += this == that ? 0 : (double)predict->unknown * predictLARGE;
  return (MeasureRangeStruct){.low = more.low - error, .middle = more.middle, .high = more.high + error};
}

/* ---- What can be said ---- */

/* predictUnlike -- why a replay with the allocator that the program had is not what that did; NULL: it may be */
static const char *predictUnlike(const PredictStruct *predict, const MeasureStruct *measure)
{
  const PlayResultStruct *replayed = &measure->measured[measure->reference].median;
  MeasureRangeStruct now = predictNow(predict, measure);

  if (now.middle <= 0 || predict->peak <= 0)
    return "the program ended before its samples showed what it took";
  if ((double)replayed->cpu / 1e9 > now.high * predictTIMES)
    return "the replay with the allocator that it had takes more processor time than the program did";
  if (replayed->waited > replayed->cpu)
    return "the threads of the replay wait for each other for more than half of its time, to keep to the recorded order";
  if ((double)replayed->peak > predictMost(predict->peak, predict->alonePeak) * predictMEMORY + predictSPARE)
    return "the replay with the allocator that it had takes more memory than the program did, which may have touched "
           "less of its objects";
  return NULL;
}

const char *PredictPossible(const PredictStruct *predict, const MeasureStruct *measure)
{
  const MeasuredStruct *reference = &measure->measured[measure->reference];

  if (!predict->known)
    return "the log has no samples of the program's own processor time and memory (kind System)";
  if (measure->rounds < MeasureRunsMIN)
    return "too few runs";
  if (predict->stranger != NULL)
    return predict->stranger;
  if (!reference->ran || !AllocatorSame(&reference->allocator, &measure->recorded))
    return "the allocator that it had, with which the others are compared, has not run";
  if ((double)predict->missing > (double)predict->operations * predictMISSING)
    return "too many of its events are not in the log";
  if (reference->median.failures > 0)
    return "allocations failed in the replay with the allocator that it had";
  return predictUnlike(predict, measure);
}

const char *PredictKnows(const PredictStruct *predict, const MeasureStruct *measure, Index allocator)
{
  double cpu = predictDifference(predict, measure, allocator, measure->reference).middle;
  double more = predictMore(predict, measure, allocator, measure->reference).middle;

  if (measure->measured[allocator].median.failures > 0)
    return "allocations failed in its replay";
  if (predictNow(predict, measure).middle + cpu <= 0 || predictResident(predict).middle + more <= 0)
    return "its replay takes less than that with the allocator that it had, by more than the program took";
  return NULL;
}

/* ---- What is said ---- */

/* predictPart -- ns of so many seconds, from 0 to 1 */
static double predictPart(double ns, double of)
{
  double part = of > 0 ? predictMost(ns / 1e9 / of, 0) : 0;

  return part < 1 ? part : 1;
}

MeasureRangeStruct PredictShare(const PredictStruct *predict, const MeasureStruct *measure)
{
  MeasureRangeStruct now = predictNow(predict, measure);

  if (measure->allocation.middle / 1e9 >= now.middle) /* a replay that takes more than the program is not like it */
    return (MeasureRangeStruct){.middle = 0};
  return (MeasureRangeStruct){.low = predictPart(measure->allocation.low, now.high),
                              .middle = predictPart(measure->allocation.middle, now.middle),
                              .high = predictPart(measure->allocation.high, now.low)};
}

/* predictBoth -- can something be said of both? */
static Bool predictBoth(const PredictStruct *predict, const MeasureStruct *measure, Index this, Index that)
{
  return PredictKnows(predict, measure, this) == NULL && PredictKnows(predict, measure, that) == NULL;
}

Bool PredictFaster(const PredictStruct *predict, const MeasureStruct *measure, Index this, Index that)
{
  return predictBoth(predict, measure, this, that) && predictDifference(predict, measure, this, that).high < 0;
}

MeasureRangeStruct PredictCpu(const PredictStruct *predict, const MeasureStruct *measure, Index allocator)
{
  MeasureRangeStruct now = predictNow(predict, measure);
  MeasureRangeStruct more = predictDifference(predict, measure, allocator, measure->reference);

  return (MeasureRangeStruct){
    .low = predictMost(now.low + more.low, 0),
    .middle = predictMost(now.middle + more.middle, 0),
    .high = predictMost(now.high + more.high, 0),
  };
}

MeasureRangeStruct PredictPeak(const PredictStruct *predict, const MeasureStruct *measure, Index allocator)
{
  MeasureRangeStruct more = predictMore(predict, measure, allocator, measure->reference), now = predictResident(predict);
  double spread = (double)MeasurePeakSpread(measure, allocator) / 2; /* a run of the program is one run */

  return (MeasureRangeStruct){
    .low = predictMost(now.low + more.low - spread, 0),
    .middle = predictMost(now.middle + more.middle, 0),
    .high = predictMost(now.high + more.high + spread, 0),
  };
}

Bool PredictSmaller(const PredictStruct *predict, const MeasureStruct *measure, Index this, Index that)
{
  return predictBoth(predict, measure, this, that) && predictMore(predict, measure, this, that).high < 0;
}
