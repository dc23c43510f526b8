/* sitetree.c -- the callers of a book as a tree
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "callers/sitetree.h"

#include <stdlib.h>

#include "base/grow.h"

enum { treeShareMIN = 100, treeDEPTH = 20 };

/* A key of a node, without padding. */
typedef struct treeKeyStruct {
  CodePlaceStruct place;
  uint64_t parent;
} treeKeyStruct;

/* treeChild -- the number of the node that is this place below the parent; 0: no memory */
static uint32_t treeChild(SiteTree tree, uint32_t parent, const CodePlaceStruct *place)
{
  treeKeyStruct key = {*place, parent};
  uint32_t number;
  SiteNode node;

  if (!Grow(&tree->node, &tree->capacity, tree->count, sizeof *tree->node))
    return 0;
  number = StringsAdd(&tree->keys, (const char *)&key, sizeof key);
  if (number == 0 || number < tree->count)
    return number;
  node = &tree->node[tree->count++];
  *node = (SiteNodeStruct){.place = *place, .sum = {.group = parent}, .sibling = tree->node[parent].child};
  tree->node[parent].child = number;
  return number;
}

/* treeAdd -- add a site to all nodes that its stack goes through */
static Res treeAdd(SiteTree tree, const SiteStruct *site, const SiteLineStruct *line, Bool up)
{
  CodePlaceStruct frames[CodeFramesMAX];
  Count count = CodeNamesFrames(frames, tree->names, site);
  Index first = CodeNamesCaller(tree->names, frames, count), i;
  uint32_t at = 0;

  SiteLineAdd(&tree->node[0].sum, line);
  for (i = first; i < count; ++i) {
    at = treeChild(tree, at, &frames[up ? i : count - 1 - (i - first)]);
    if (at == 0)
      return ResMEMORY;
    SiteLineAdd(&tree->node[at].sum, line);
  }
  return ResOK;
}

static int treeCompare(const void *a, const void *b, void *data)
{
  SiteTree tree = data;
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  uint64_t xs = SiteLineKey(&tree->node[x].sum, tree->order), ys = SiteLineKey(&tree->node[y].sum, tree->order);

  if (xs != ys)
    return xs > ys ? -1 : 1;
  return x < y ? -1 : x > y;
}

/* treeSort -- sort the children of a node, in an array that has room for all nodes */
static void treeSort(SiteTree tree, uint32_t parent, uint32_t *children)
{
  uint32_t *link = &tree->node[parent].child, child;
  Count count = 0;
  Index i;

  for (child = *link; child != 0; child = tree->node[child].sibling)
    children[count++] = child;
  qsort_r(children, count, sizeof *children, treeCompare, tree);
  for (i = 0; i < count; ++i) {
    *link = children[i];
    link = &tree->node[children[i]].sibling;
  }
  *link = 0;
}

Res SiteTreeMake(SiteTree tree, SiteBook book, SiteNumbers numbers, CodeNames names, Bool up, SiteOrder order)
{
  uint32_t number, *children;
  Res res = CodeNamesRead(names);

  *tree = (SiteTreeStruct){.names = names, .order = order};
  if (res != ResOK || !Grow(&tree->node, &tree->capacity, 0, sizeof *tree->node))
    return ResMEMORY;
  tree->node[0] = (SiteNodeStruct){.child = 0};
  tree->count = 1;
  for (number = 1; number < book->count && res == ResOK; ++number) {
    SiteLineStruct line = SiteLineOf(book, number);
    res = treeAdd(tree, SiteNumbersAt(numbers, number), &line, up);
  }
  if (res != ResOK || names->res != ResOK || (children = malloc(tree->count * sizeof *children)) == NULL)
    return ResMEMORY;
  for (number = 0; number < tree->count; ++number)
    treeSort(tree, number, children);
  free(children);
  return ResOK;
}

void SiteTreeFinish(SiteTree tree)
{
  StringsFinish(&tree->keys);
  free(tree->node);
  tree->node = NULL;
}

/* treeShown -- is the node large enough to be printed? */
static Bool treeShown(SiteTree tree, uint32_t number)
{
  uint64_t key = SiteLineKey(&tree->node[number].sum, tree->order);

  return number != 0 && key > 0 && key >= SiteLineKey(&tree->node[0].sum, tree->order) / treeShareMIN;
}

/* treeText -- print the children of a node.  An only child stands below its parent; others have a dash, and what is
 * below them is indented. */
static void treeText(FILE *out, SiteTree tree, uint32_t parent, unsigned depth,
                     void (*line)(FILE *out, void *data, const SiteLineStruct *sum), void *data)
{
  uint32_t child = tree->node[parent].child;
  Bool only = treeShown(tree, child) && !treeShown(tree, tree->node[child].sibling);

  for (; treeShown(tree, child); child = tree->node[child].sibling) {
    line(out, data, &tree->node[child].sum);
    fprintf(out, "%*s%s", (int)(2 * (depth < treeDEPTH ? depth : treeDEPTH)), "", only ? "" : "- ");
    CodeNamesText(out, tree->names, &tree->node[child].place);
    putc('\n', out);
    treeText(out, tree, child, depth + !only, line, data);
  }
}

void SiteTreeText(FILE *out, SiteTree tree, void (*line)(FILE *out, void *data, const SiteLineStruct *sum), void *data)
{
  treeText(out, tree, 0, 0, line, data);
}

static void treeJson(FILE *out, SiteTree tree, uint32_t parent, void (*line)(FILE *out, const SiteLineStruct *sum))
{
  uint32_t child;

  putc('[', out);
  for (child = tree->node[parent].child; child != 0; child = tree->node[child].sibling) {
    fputs("\n {", out);
    CodeNamesJson(out, tree->names, &tree->node[child].place);
    fputs(", ", out);
    line(out, &tree->node[child].sum);
    fputs(", \"children\": ", out);
    treeJson(out, tree, child, line);
    fputs(tree->node[child].sibling != 0 ? "}," : "}", out);
  }
  putc(']', out);
}

void SiteTreeJson(FILE *out, SiteTree tree, void (*line)(FILE *out, const SiteLineStruct *sum))
{
  treeJson(out, tree, 0, line);
}
