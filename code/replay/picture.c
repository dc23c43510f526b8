/* picture.c -- a page with a picture: resident bytes over time with each allocator, of the program itself, and the
 * bytes that live
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "replay/picture.h"

#include <string.h>

#include "base/page.h"
#include "base/version.h"
#include "log/processname.h"

enum {
  pictureLEFT = 64, pictureTOP = 12, pictureWIDTH = 880, pictureHEIGHT = 320, /* of the plot, in units of the picture */
  pictureALL = pictureLEFT + pictureWIDTH + 16,
  pictureBELOW = 44,
  pictureHUES = 8,
  pictureTICKS = 6    /* at most, but one */
};

/* How each page begins.  It has no script, and loads nothing. */
static const char pictureBegins[] =
  "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
  "<meta name=\"generator\" content=\"Pawprint replay report\">\n";

static const char pictureHead[] =
  "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
  "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
  "<meta name=\"color-scheme\" content=\"light dark\">\n"
  "<title>Pawprint: replayed on other allocators</title>\n"
  "<style>\n"
  ":root { --back: #fff; --ink: #1c2126; --soft: #5b6670; --line: #dfe3e8; --live: #dce4ec;\n"
  "  --h0: #1f6fb5; --h1: #c8511b; --h2: #2d8a57; --h3: #8456b8; --h4: #a07800; --h5: #c2386b; --h6: #0a7f86;"
  " --h7: #6b5a46; }\n"
  "@media (prefers-color-scheme: dark) { :root { --back: #14171b; --ink: #e3e7eb; --soft: #9ba6b1; --line: #2b3138;\n"
  "  --live: #2a333c; --h0: #6fb0ee; --h1: #f29a63; --h2: #66c592; --h3: #bd98ea; --h4: #d9b648; --h5: #ee86ab;"
  " --h6: #4fc3ca; --h7: #b9a68e; } }\n"
  "body { margin: 0 auto; max-width: 1040px; padding: 20px 24px 32px; background: var(--back); color: var(--ink);\n"
  "  font: 14px/1.45 system-ui, sans-serif; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }\n"
  "h1 { font-size: 24px; font-weight: 600; margin: 0; } p { color: var(--soft); margin: 6px 0 14px; max-width: 78ch; }\n"
  "figure { margin: 0; overflow-x: auto; } svg { display: block; width: 100%; min-width: 640px; height: auto; }\n"
  "svg text { fill: var(--soft); font-size: 12px; } .grid { stroke: var(--line); } .live { fill: var(--live); }\n"
  ".curve { fill: none; stroke-width: 2; stroke-linejoin: round; } .own { stroke: var(--ink); stroke-width: 3; }\n"
  ".scroll { overflow-x: auto; } table { border-collapse: collapse; margin-top: 16px; width: 100%; }\n"
  "th, td { text-align: right; padding: 5px 10px; border-bottom: 1px solid var(--line); white-space: nowrap; }\n"
  "th { color: var(--soft); font-weight: 600; } th:first-child, td:first-child { text-align: left; }\n"
  ".key { width: 26px; height: 10px; display: inline-block; vertical-align: baseline; margin-right: 8px; }\n"
  "</style>\n</head>\n<body>\n";

/* What the page is made of. */
typedef struct PictureDrawStruct {
  FILE *file;
  Picture picture;
  Report report;
  uint64_t slice;   /* ns, of all curves */
  Count slices;     /* of the longest one */
  double most;      /* bytes, at the top of the plot */
} PictureDrawStruct, *PictureDraw;

void PictureRun(Picture picture, Report report, ReplayRun run, int file, const PlayParamsStruct *params,
                void (*say)(void *data, const char *name), void *data)
{
  PlayParamsStruct draw = *params;
  Index i, j;

  draw.verify = FALSE; /* visits stay: their tables are in the base */
  draw.speed = 0;
  draw.slice = picture->live.slice;
  for (i = 0; i < report->shown && draw.slice != 0 && !MeasureStopped(&report->measure); ++i) {
    Measured measured = &report->measure.measured[i];
    Curve with = &picture->with[i];
    if (!measured->ran || measured->allocator.kind == ReplayNONE)
      continue;
    say(data, measured->allocator.name);
    if (!ReplayChildRun(run, file, &measured->allocator, &draw))
      continue;
    with->slice = draw.slice;
    for (j = 0; j < CurveSlices(&picture->live); ++j) {
      uint64_t bytes = run->result.resident[j], base = report->measure.base;
      with->most[j] = bytes > base ? bytes - base : bytes > 0;
      if (bytes == 0 && j > 0) /* no operation: as before */
        with->most[j] = with->most[j - 1];
    }
  }
}

/* ---- The plot ---- */

/* pictureStep -- a round number, of which few fit below `most` */
static double pictureStep(double most)
{
  static const double round[] = {1, 2, 5};
  double step = 1e-9, ten = 1e-9;
  Index i = 0;

  while (most / step > pictureTICKS) {
    i = (i + 1) % ARRAY_LENGTH(round);
    ten *= i == 0 ? 10 : 1;
    step = round[i] * ten;
  }
  return step;
}

static double pictureX(PictureDraw draw, double slices)
{
  return pictureLEFT + slices / (double)draw->slices * pictureWIDTH;
}

static double pictureY(PictureDraw draw, double bytes)
{
  return pictureTOP + pictureHEIGHT * (1 - bytes / draw->most);
}

/* pictureTicks -- round numbers along the axis: of bytes, in MiB, or of time, in s */
static void pictureTicks(PictureDraw draw, Bool bytes)
{
  double unit = bytes ? 1 << 20 : 1e9 / (double)draw->slice, most = (bytes ? draw->most : (double)draw->slices) / unit;
  double step = pictureStep(most), at;

  for (at = 0; at <= most * 1.0001; at += step) {
    double x = pictureX(draw, at * unit), y = pictureY(draw, at * unit);
    if (bytes)
      fprintf(draw->file, "<path class=\"grid\" d=\"M%d %.1fh%d\"/><text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%.4g</text>\n",
              (int)pictureLEFT, y, (int)pictureWIDTH, (int)pictureLEFT - 8, y + 4, at);
    else
      fprintf(draw->file, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%.4g</text>\n", x,
              (int)(pictureTOP + pictureHEIGHT) + 18, at);
  }
  fprintf(draw->file, bytes ? "<text x=\"%d\" y=\"%d\">MiB</text>\n" : "<text x=\"%d\" y=\"%d\">s</text>\n",
          bytes ? 4 : (int)(pictureLEFT + pictureWIDTH / 2),
          bytes ? (int)pictureTOP + 10 : (int)(pictureTOP + pictureHEIGHT) + 38);
}

/* picturePoints -- the points of a curve, where something is known of it */
static void picturePoints(PictureDraw draw, const CurveStruct *curve)
{
  Index i;

  for (i = 0; i < CurveSLICES; ++i)
    if (curve->most[i] != 0)
      fprintf(draw->file, "%.1f,%.1f ", pictureX(draw, (double)i + 0.5), pictureY(draw, (double)curve->most[i]));
}

static void pictureCurve(PictureDraw draw, const CurveStruct *curve, const char *class, Index hue)
{
  static const char *const dash[] = {"", " stroke-dasharray=\"7 4\"", " stroke-dasharray=\"2 3\""};

  if (CurveSlices(curve) == 0)
    return;
  fprintf(draw->file, "<polyline class=\"curve %s\"%s", class, dash[hue / pictureHUES % ARRAY_LENGTH(dash)]);
  if (*class == '\0')
    fprintf(draw->file, " style=\"stroke: var(--h%zu)\"", hue % pictureHUES);
  fputs(" points=\"", draw->file);
  picturePoints(draw, curve);
  fputs("\"/>\n", draw->file);
}

/* pictureScale -- the same slices for all curves, and the largest number of any */
static void pictureScale(PictureDraw draw)
{
  Picture picture = draw->picture;
  Curve curve[MeasureAllocatorsMAX + 2] = {&picture->live, &picture->resident};
  Count count = 2;
  Index i, j;

  for (i = 0; i < draw->report->shown; ++i)
    curve[count++] = &picture->with[i];
  for (i = 0; i < count; ++i)
    draw->slice = curve[i]->slice > draw->slice ? curve[i]->slice : draw->slice;
  for (i = 0; i < count; ++i) {
    CurveJoin(curve[i], draw->slice);
    draw->slices = CurveSlices(curve[i]) > draw->slices ? CurveSlices(curve[i]) : draw->slices;
    for (j = 0; j < CurveSLICES; ++j)
      draw->most = (double)curve[i]->most[j] > draw->most ? (double)curve[i]->most[j] : draw->most;
  }
  draw->most *= 1.05;
}

static void picturePlot(PictureDraw draw)
{
  Picture picture = draw->picture;
  Index i;

  fprintf(draw->file, "<figure><svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"Resident memory over time; the table "
          "below has the peaks\">\n", (int)pictureALL, (int)(pictureTOP + pictureHEIGHT + pictureBELOW));
  if (CurveSlices(&picture->live) > 0) {
    fprintf(draw->file, "<polygon class=\"live\" points=\"%d,%d ", (int)pictureLEFT, (int)(pictureTOP + pictureHEIGHT));
    picturePoints(draw, &picture->live);
    fprintf(draw->file, "%.1f,%d\"/>\n", pictureX(draw, (double)CurveSlices(&picture->live) - 0.5),
            (int)(pictureTOP + pictureHEIGHT));
  }
  pictureTicks(draw, TRUE);
  pictureTicks(draw, FALSE);
  for (i = 0; i < draw->report->shown; ++i)
    pictureCurve(draw, &picture->with[i], "", i);
  pictureCurve(draw, &picture->resident, "own", 0);
  fputs("</svg></figure>\n", draw->file);
}

/* ---- The table ---- */

static void pictureKey(PictureDraw draw, const char *colour)
{
  fprintf(draw->file, "<tr><td><span class=\"key\" style=\"background: var(--%s)\"></span>", colour);
}

/* pictureMost -- a cell with the most of a curve, MiB */
static void pictureMost(PictureDraw draw, const CurveStruct *curve)
{
  uint64_t most = 0;
  Index i;

  for (i = 0; i < CurveSLICES; ++i)
    most = curve->most[i] > most ? curve->most[i] : most;
  if (most == 0)
    fputs("<td>?</td>", draw->file);
  else
    fprintf(draw->file, "<td>%.1f</td>", (double)most / (1 << 20));
}

/* pictureRange -- a cell with a range, in these units */
static void pictureRange(PictureDraw draw, MeasureRangeStruct range, double unit, int digits)
{
  fprintf(draw->file, "<td>%.*f (%.*f to %.*f)</td>", digits, range.middle / unit, digits, range.low / unit, digits,
          range.high / unit);
}

static void pictureAllocator(PictureDraw draw, Index i)
{
  const MeasureStruct *measure = &draw->report->measure;
  const MeasuredStruct *measured = &measure->measured[i];
  const PredictStruct *predict = &draw->report->predict;
  char hue[16];

  (void)snprintf(hue, sizeof hue, "h%zu", i % pictureHUES);
  pictureKey(draw, hue);
  PageText(draw->file, measured->allocator.name, strlen(measured->allocator.name));
  fputs("</td>", draw->file);
  if (!measured->ran) {
    fputs("<td colspan=\"3\">", draw->file);
    PageText(draw->file, measured->error, strlen(measured->error));
    fputs("</td></tr>\n", draw->file);
    return;
  }
  fprintf(draw->file, "<td>%.1f</td>", (double)measured->median.peak / (1 << 20));
  if (measured->allocator.kind != ReplayNONE && PredictPossible(predict, measure) == NULL &&
      PredictKnows(predict, measure, i) == NULL) {
    pictureRange(draw, PredictPeak(predict, measure, i), 1 << 20, 1);
    pictureRange(draw, PredictCpu(predict, measure, i), 1, 3);
  } else {
    fputs("<td></td><td></td>", draw->file);
  }
  fputs("</tr>\n", draw->file);
}

static void pictureTable(PictureDraw draw)
{
  Index i;

  fputs("<div class=\"scroll\"><table>\n<tr><th></th><th>peak in the picture, MiB</th><th>whole program, MiB</th>"
        "<th>processor seconds</th></tr>\n", draw->file);
  pictureKey(draw, "ink");
  fputs("the program, as it was recorded</td>", draw->file);
  pictureMost(draw, &draw->picture->resident);
  fputs("<td></td><td></td></tr>\n", draw->file);
  for (i = 0; i < draw->report->shown; ++i)
    pictureAllocator(draw, i);
  pictureKey(draw, "live");
  fputs("what it had asked for, and not freed</td>", draw->file);
  pictureMost(draw, &draw->picture->live);
  fputs("<td></td><td></td></tr>\n</table></div>\n", draw->file);
}

/* ---- The page ---- */

static void pictureWrite(FILE *file, void *data)
{
  PictureDraw draw = data;
  const HeaderStruct *header = &draw->report->process->header;
  const char *called = HeaderCalled(header);

  draw->file = file;
  fputs(pictureBegins, file);
  fputs(pictureHead, file);
  fputs("<h1>", file);
  PageText(file, called, strlen(called));
  fputs(" on other allocators</h1>\n<p>", file);
  PageText(file, draw->report->log, strlen(draw->report->log));
  fprintf(file, ", process %u. Resident memory over the time of the recording: of the program as it was sampled, with all "
          "that it has besides its heap; of a replay of its heap with each allocator; and the bytes of its objects, which "
          "are the area. Made by Pawprint %s.</p>\n", header->pid, PawprintVERSION);
  picturePlot(draw);
  pictureTable(draw);
  fputs("</body>\n</html>\n", file);
}

const char *PictureSave(Picture picture, Report report)
{
  PictureDrawStruct draw = {.picture = picture, .report = report, .slices = 1, .most = 1};

  pictureScale(&draw);
  return PageSave(picture->path, pictureBegins, sizeof pictureBegins - 1, pictureWrite, &draw);
}
