/* known.c -- a program that does to its heap, and tells of itself, what its arguments say, in their order
 *
 * SPDX-License-Identifier: BSD-2-Clause
 *
 *     mN=SIZE   slot N: malloc         zN=SIZE  calloc       rN=SIZE  realloc
 *     fN        free                   xN=SIZE  so many times a malloc of SIZE that is freed at once
 *     wNAME     EventUserWord of that name; it is the moment for a `mark:NAME'
 *     sMS       sleep so long
 *     kN        fork: the child goes on with what follows up to `.', and exits; then the parent goes on behind it
 *     tN        a thread goes on with what follows up to `.'; then the main thread
 *
 * Slots are 0 to 999.  What libc and the loader allocate themselves is in the log, too; sizes from 100000 on are ours.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "emit/pawprint.h"

enum { knownSLOTS = 1000 };

static void *slot[knownSLOTS];

/* known -- a function of the preloaded library; ISO C has no cast for it */
static void known(const char *name, void *pointer)
{
  void *function = dlsym(RTLD_DEFAULT, name);

  memcpy(pointer, &function, sizeof function);
}

static void mark(const char *name)
{
  EventWord (*intern)(const char *string);
  void (*userWord)(EventWord id, EventWord value);

  known("EventIntern", &intern);
  known("EventUserWord", &userWord);
  if (intern != NULL && userWord != NULL)
    userWord(intern(name), 1);
}

static char **go(char **word);

static void *goThread(void *word)
{
  (void)go(word);
  return NULL;
}

/* aside -- a child, or a thread, does what follows; returns what is behind its `.' */
static char **aside(char **word, int forks)
{
  char **next;
  pthread_t thread;

  for (next = word; *next != NULL && strcmp(*next, ".") != 0; ++next)
    ;
  if (forks) {
    pid_t child = fork();
    if (child == 0) {
      (void)go(word);
      exit(0);
    }
    (void)waitpid(child, NULL, 0);
  } else if (pthread_create(&thread, NULL, goThread, word) == 0) {
    (void)pthread_join(thread, NULL);
  }
  return *next == NULL ? next : next + 1;
}

static void step(const char *word)
{
  char *end;
  unsigned long n = strtoul(word + 1, &end, 10), size = *end == '=' ? strtoul(end + 1, NULL, 10) : 0, i;
  void **place = &slot[n % knownSLOTS];

  switch (word[0]) {
  case 'm': *place = malloc(size); break;
  case 'z': *place = calloc(1, size); break;
  case 'r': *place = realloc(*place, size); break;
  case 'f':
    free(*place);
    *place = NULL;
    break;
  case 'x':
    for (i = 0; i < n; ++i) {
      void *volatile object = malloc(size);
      free(object);
    }
    break;
  case 'w': mark(word + 1); break;
  case 's': (void)usleep((useconds_t)(1000 * n)); break;
  default: exit(2);
  }
}

static char **go(char **word)
{
  while (*word != NULL && strcmp(*word, ".") != 0) {
    if ((*word)[0] == 'k' || (*word)[0] == 't') {
      word = aside(word + 1, (*word)[0] == 'k');
    } else {
      step(*word);
      ++word;
    }
  }
  return word;
}

int main(int argc, char **argv)
{
  (void)argc;
  (void)go(argv + 1);
  return 0;
}
