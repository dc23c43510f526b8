/* statecheck.c -- saved states in the order of their positions
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "statecheck.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/aver.h"
#include "log/file.h"

void StateChecksInit(StateChecks checks, uint64_t interval)
{
  memset(checks, 0, sizeof *checks);
  checks->interval = interval;
  checks->memoryMax = StateMemoryMAX;
  checks->fileMax = StateFileMAX;
  checks->fd = -1;
}

/* checkDrop -- a check point gives back what it has */
static void checkDrop(StateChecks checks, StateCheck check)
{
  if (check->bytes != NULL) {
    checks->memory -= check->size;
    free(check->bytes);
  } else {
    checks->file -= check->size;
    /* Where the file system cannot do this, the room is used again all the same. */
    (void)fallocate(checks->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)check->offset, (off_t)check->size);
  }
}

void StateChecksForget(StateChecks checks, StateCheck check)
{
  Index i, first = (Index)(check - checks->check);

  for (i = first; i < checks->count; ++i)
    checkDrop(checks, &checks->check[i]);
  checks->count = first;
}

void StateChecksFinish(StateChecks checks)
{
  StateChecksForget(checks, checks->check);
  if (checks->fd >= 0)
    (void)close(checks->fd);
  checks->fd = -1;
}

/* checksThin -- forget every other one, beginning with the first, and want them half as often */
static void checksThin(StateChecks checks)
{
  Index i, kept = 0;

  for (i = 0; i < checks->count; ++i) {
    if (i % 2 == 0)
      checkDrop(checks, &checks->check[i]);
    else
      checks->check[kept++] = checks->check[i];
  }
  checks->count = kept;
  checks->interval *= 2;
}

/* checksPlace -- the first place in the file where `size` bytes are free */
static uint64_t checksPlace(StateChecks checks, Size size)
{
  uint64_t place = 0;
  Index i = 0;

  while (i < checks->count) {
    StateCheck check = &checks->check[i++];
    if (check->bytes == NULL && place < check->offset + check->size && check->offset < place + size) {
      place = check->offset + check->size;
      i = 0;
    }
  }
  return place;
}

/* checksSpill -- put it into the file; FALSE: there is no room */
static Bool checksSpill(StateChecks checks, StateCheck check)
{
  if (checks->fileFailed || check->size > checks->fileMax - checks->file)
    return FALSE;
  if (checks->fd < 0)
    checks->fd = FileOpenTemporary();
  check->offset = checksPlace(checks, check->size);
  if (checks->fd < 0 || FileWriteAt(checks->fd, check->offset, check->bytes, check->size) != ResOK) {
    checks->fileFailed = TRUE; /* no room in there, either: memory has to do from here on */
    return FALSE;
  }
  free(check->bytes);
  check->bytes = NULL;
  checks->file += check->size;
  return TRUE;
}

void StateChecksAdd(StateChecks checks, const LogPositionStruct *position, uint64_t events, unsigned char *bytes,
                    Size size)
{
  StateCheckStruct check = {.position = *position, .events = events, .bytes = bytes, .size = size};

  if (checks->count == StateChecksMAX)
    checksThin(checks);
  for (;;) {
    if (size <= checks->memoryMax - checks->memory) {
      checks->memory += size;
      break;
    }
    if (checksSpill(checks, &check))
      break;
    if (checks->count == 0) { /* too large by itself */
      checks->interval *= 2;
      free(bytes);
      return;
    }
    checksThin(checks);
  }
  checks->check[checks->count++] = check;
}

StateCheck StateChecksFind(StateChecks checks, const LogPositionStruct *position)
{
  Index low = 0, high = checks->count;

  while (low < high) {
    Index middle = low + (high - low) / 2;
    if (LogPositionCompare(&checks->check[middle].position, position) <= 0)
      low = middle + 1;
    else
      high = middle;
  }
  return low == 0 ? NULL : &checks->check[low - 1];
}

Res StateChecksBytes(const unsigned char **bytesReturn, unsigned char **ownedReturn, StateChecks checks,
                     StateCheck check)
{
  *ownedReturn = NULL;
  *bytesReturn = check->bytes;
  if (check->bytes != NULL)
    return ResOK;
  *ownedReturn = malloc(check->size);
  if (*ownedReturn == NULL)
    return ResMEMORY;
  *bytesReturn = *ownedReturn;
  if (FileReadAt(checks->fd, check->offset, *ownedReturn, check->size) == ResOK)
    return ResOK;
  free(*ownedReturn);
  return ResIO;
}

Bool StateChecksCheck(StateChecks checks)
{
  uint64_t memory = 0, file = 0;
  Index i, j;

  AVER(checks->count <= StateChecksMAX);
  for (i = 0; i < checks->count; ++i) {
    StateCheck check = &checks->check[i];
    *(check->bytes != NULL ? &memory : &file) += check->size;
    AVER(i == 0 || (LogPositionCompare(&check[-1].position, &check->position) < 0 && check[-1].events < check->events));
    for (j = 0; check->bytes == NULL && j < i; ++j) {
      StateCheck other = &checks->check[j];
      AVER(other->bytes != NULL || other->offset + other->size <= check->offset ||
           check->offset + check->size <= other->offset);
    }
  }
  AVER(memory == checks->memory && memory <= checks->memoryMax);
  AVER(file == checks->file && file <= checks->fileMax);
  return TRUE;
}
