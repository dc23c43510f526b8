/* image.c -- which file a process runs, of one that has said only how it was called
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "collect/image.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static Bool imageSame(Image image, const struct stat *status)
{
  return image->device == status->st_dev && image->inode == status->st_ino &&
         image->changed.tv_sec == status->st_ctim.tv_sec && image->changed.tv_nsec == status->st_ctim.tv_nsec;
}

/* imageKnown -- what is remembered of a name; NULL: nothing */
static Image imageKnown(Images images, const char *called)
{
  Index i;

  for (i = 0; i < ImagesMAX && images->image[i] != NULL; ++i)
    if (strcmp(images->image[i]->called, called) == 0)
      return images->image[i];
  return NULL;
}

/* imageKeep -- remember it, in the place of what was known of the name, or else of the oldest */
static void imageKeep(Images images, Image image, const char *called, const char *program, const struct stat *status)
{
  Image *place = &images->image[images->count % ImagesMAX];

  if (image == NULL && *place == NULL && (*place = malloc(sizeof **place)) == NULL)
    return;
  if (image == NULL) {
    image = *place;
    ++images->count;
  }
  (void)strcpy(image->called, called);
  (void)strcpy(image->program, program);
  image->device = status->st_dev;
  image->inode = status->st_ino;
  image->changed = status->st_ctim;
}

/* imageAsk -- the system: which file runs, and its path; FALSE: we may not know */
static Bool imageAsk(char path[RegionPathMAX], struct stat *status, pid_t pid)
{
  char link[32];
  ssize_t length;

  (void)snprintf(link, sizeof link, "/proc/%ld/exe", (long)pid);
  length = readlink(link, path, RegionPathMAX - 1);
  path[length > 0 ? length : 0] = '\0';
  return length > 0 && stat(link, status) == 0;
}

Bool ImageFind(Images images, pid_t pid, char program[RegionPathMAX])
{
  /* A name that does not begin at the root may be another file in each folder. */
  Image image = program[0] == '/' ? imageKnown(images, program) : NULL;
  char path[RegionPathMAX];
  struct stat status, its;

  if (image != NULL && stat(program, &status) == 0 && imageSame(image, &status)) {
    (void)strcpy(program, image->program);
    return TRUE;
  }
  if (!imageAsk(path, &its, pid))
    return FALSE;
  if (program[0] == '/' && stat(program, &status) == 0 && status.st_dev == its.st_dev && status.st_ino == its.st_ino)
    imageKeep(images, image, program, path, &status);
  (void)strcpy(program, path);
  return TRUE;
}

void ImagesFinish(Images images)
{
  Index i;

  for (i = 0; i < ImagesMAX; ++i)
    free(images->image[i]);
}
