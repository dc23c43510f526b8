/* discards.c -- events that were discarded, by stream: of which thread, and of which kind
 *
 * Design: design/view.md .summary.discarded      Tests: test/view/who.t
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "analyse/summary.h"

#include "base/say.h"
#include "export/jsondocument.h"

enum { discardsSHOWN = 10 };

/* discardsKind -- the name of the stream's kind; "": it is not known */
static const char *discardsKind(const LogDiscardStruct *discard)
{
  return discard->process->registry != NULL && discard->kind < EventKindMAX
           ? discard->process->registry->kind[discard->kind] : "";
}

typedef struct discardsFirstStruct {
  Count count, all;
  LogDiscardStruct discard[discardsSHOWN]; /* most events first */
} discardsFirstStruct, *DiscardsFirst;

static void discardsPut(void *data, const LogDiscardStruct *discard)
{
  DiscardsFirst first = data;
  Index i = first->count < discardsSHOWN ? first->count++ : discardsSHOWN;

  ++first->all;
  if (i == discardsSHOWN) {
    if (first->discard[i - 1].events >= discard->events)
      return;
    --i;
  }
  for (; i > 0 && first->discard[i - 1].events < discard->events; --i)
    first->discard[i] = first->discard[i - 1];
  first->discard[i] = *discard;
}

void DiscardsText(FILE *out, Log log)
{
  discardsFirstStruct first = {.count = 0};
  Index i;

  LogDiscards(log, discardsPut, &first);
  for (i = 0; i < first.count; ++i) {
    const LogDiscardStruct *discard = &first.discard[i];
    const char *kind = discardsKind(discard);
    char who[32];
    if (discard->stream)
      (void)snprintf(who, sizeof who, "%u/%u", discard->process->header.pid, discard->thread);
    else
      (void)snprintf(who, sizeof who, "%u", discard->process->header.pid);
    fprintf(out, "  %-20s%12llu ", who, (unsigned long long)discard->events);
    SayPlain(out, kind, strlen(kind));
    putc('\n', out);
  }
  if (first.all > first.count)
    fprintf(out, "  and %zu more\n", first.all - first.count);
}

typedef struct discardsJsonStruct {
  FILE *out;
  Bool any;
} discardsJsonStruct, *DiscardsJsonOut;

static void discardsJson(void *data, const LogDiscardStruct *discard)
{
  DiscardsJsonOut to = data;

  fprintf(to->out, "%s\n  {\"pid\": %u, ", to->any ? "," : "", discard->process->header.pid);
  to->any = TRUE;
  if (discard->stream) {
    fprintf(to->out, "\"tid\": %u, \"kind\": ", discard->thread);
    JsonString(to->out, discardsKind(discard));
  } else {
    fputs("\"tid\": null, \"kind\": null", to->out);
  }
  fprintf(to->out, ", \"events\": %llu}", (unsigned long long)discard->events);
}

void DiscardsJson(FILE *out, Log log)
{
  discardsJsonStruct to = {.out = out};

  putc('[', out);
  LogDiscards(log, discardsJson, &to);
  putc(']', out);
}
