/* recordingtest.c -- what eventrec keeps of a recording, and of the files of regions, notices what is wrong with it
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "collect/recording.h"
#include "collect/regionmaker.h"
#include "tap.h"

static void testRecording(void)
{
  static RecordingStruct recording;
  Index i;

  for (i = 0; i < recordingLinesMAX + 3; ++i)
    RecordingTell(&recording, "line %zu", i / 2 * 2);
  TapOk(RecordingCheck(&recording), "a recording passes its check");
  TapIs(recording.lines.count, (recordingLinesMAX + 4) / 2, "a line that was told already is told once");
  for (; i < 3 * recordingLinesMAX; ++i)
    RecordingTell(&recording, "line %zu", i);
  TapOk(RecordingCheck(&recording) && recording.lines.count == recordingLinesMAX && recording.linesMore > 0,
        "of too many lines the first are kept, and the others counted");
  PLANT(recording.lines.count, recordingLinesMAX + 1, RecordingCheck(&recording), "that it has more lines than places");
  PLANT(recording.lines.entry[1].name, NULL, RecordingCheck(&recording), "that a line is none");
  PLANT(recording.met.count, 1, RecordingCheck(&recording), "that a program has no name");
  PLANT(recording.libraries.count, recordingNamesMAX + 1, RecordingCheck(&recording), "that there are too many libraries");
  PLANT(recording.programs.count, 1, RecordingCheck(&recording), "that a path is none");
  PLANT(recording.names.count, recordingFewMAX + 1, RecordingCheck(&recording), "that too many names are remembered");
  PLANT(recording.looked, recordingLookedMAX + 1, RecordingCheck(&recording), "that more may be read than at first");
  PLANT(recording.unlooked, 1, RecordingCheck(&recording), "that nobody knows what was not looked at");
}

static void testPlace(void)
{
  static RegionMakerStruct maker;
  MadeRegionStruct file = {.fd = -1, .locked = -1, .folder = 3, .linked = TRUE, .name = "pawprint-1"};

  RegionMakerOpen(&maker, 1, "/tmp/run.paw");
  TapOk(RegionMakerCheck(&maker) && maker.beside >= 0, "the place for regions of a log passes its check");
  PLANT(maker.log[0], 'r', RegionMakerCheck(&maker), "that the log's path is not absolute");
  PLANT(maker.log[0], '\0', RegionMakerCheck(&maker), "that there is a folder beside no log");
  RegionMakerClose(&maker);
  RegionMakerOpen(&maker, 1, NULL);
  TapOk(RegionMakerCheck(&maker) && maker.beside < 0, "so does that of regions without one");
  memset(maker.log, '/', sizeof maker.log);
  TapOk(!RegionMakerCheck(&maker), "the check sees that the path has no end");
  RegionMakerClose(&maker);
  TapOk(MadeRegionCheck(&file), "a file that has a name and a link passes its check");
  PLANT(file.name[0], '\0', MadeRegionCheck(&file), "that it lies in a folder without a name");
  PLANT(file.folder, -1, MadeRegionCheck(&file), "that it has a link beside no name");
  memset(file.name, 'x', sizeof file.name);
  TapOk(!MadeRegionCheck(&file), "the check sees that the name has no end");
}

int main(void)
{
  testRecording();
  testPlace();
  return TapDone();
}
