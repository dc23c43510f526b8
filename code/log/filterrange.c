/* filterrange.c -- the numbers that are in a relation to another
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <math.h>
#include <string.h>

#include "base/aver.h"
#include "log/filterdata.h"

/* The integers next to a number: the least that is not less, the greatest that is not greater. */
typedef struct rangeNextStruct {
  Bool up, down;          /* there is one */
  uint64_t least, greatest;
} rangeNextStruct;

static rangeNextStruct rangeNext(FilterNumber number)
{
  static const double beyond = 18446744073709551616.0; /* of 64 bits */
  double real = number->real;
  uint64_t greatest;

  if (number->whole && (!number->negative || number->integer == 0))
    return (rangeNextStruct){TRUE, TRUE, number->integer, number->integer};
  if (real < 0)
    return (rangeNextStruct){TRUE, FALSE, 0, 0};
  if (real >= beyond)
    return (rangeNextStruct){FALSE, TRUE, 0, UINT64_MAX};
  greatest = (uint64_t)real;
  return (rangeNextStruct){TRUE, TRUE, greatest + ((double)greatest < real), greatest};
}

FilterRangeStruct FilterRangeMake(FilterMark relation, FilterNumber number, FilterNumber last)
{
  static const FilterRangeStruct none = {1, 0}, all = {0, UINT64_MAX};
  rangeNextStruct next = rangeNext(number), end;

  switch (relation) {
  case FilterMarkEQ:
    return next.up && next.down && next.least == next.greatest ? (FilterRangeStruct){next.least, next.least} : none;
  case FilterMarkGE:
    return next.up ? (FilterRangeStruct){next.least, UINT64_MAX} : none;
  case FilterMarkLE:
    return next.down ? (FilterRangeStruct){0, next.greatest} : none;
  case FilterMarkGT:
    if (!next.down)
      return all;
    return next.greatest < UINT64_MAX ? (FilterRangeStruct){next.greatest + 1, UINT64_MAX} : none;
  case FilterMarkLT:
    if (!next.up)
      return all;
    return next.least > 0 ? (FilterRangeStruct){0, next.least - 1} : none;
  case FilterMarkIN:
    end = rangeNext(last);
    return next.up && end.down && next.least <= end.greatest ? (FilterRangeStruct){next.least, end.greatest} : none;
  default:
    NOTREACHED;
  }
}

/* rangeBeside -- the next greater double, or the next less; libm has it, which a library would have to ask for */
static double rangeBeside(double number, Bool up)
{
  uint64_t bits;

  if (number == 0)
    return up ? 0x1p-1074 : -0x1p-1074;
  memcpy(&bits, &number, sizeof bits);
  bits += (number > 0) == up ? 1 : UINT64_MAX;
  memcpy(&number, &bits, sizeof number);
  return number;
}

void FilterRealsMake(double *loReturn, double *hiReturn, FilterMark relation, double number, double last)
{
  *loReturn = relation == FilterMarkGT ? rangeBeside(number, TRUE) : number;
  *hiReturn = relation == FilterMarkLT ? rangeBeside(number, FALSE) : number;
  if (relation == FilterMarkGT || relation == FilterMarkGE)
    *hiReturn = INFINITY;
  if (relation == FilterMarkLT || relation == FilterMarkLE)
    *loReturn = -INFINITY;
  if (relation == FilterMarkIN)
    *hiReturn = last;
}
