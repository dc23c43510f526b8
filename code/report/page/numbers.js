// numbers.js -- all that the page shows of a span, as a plain object, of which tables are made and which tests compare
//
// SPDX-License-Identifier: BSD-2-Clause
//
// In numbersOf each list has the order of the report's rows; tables sort for themselves.

function liveAt(model, i) {
  const {total, liveStart} = model;
  if (i <= 0) return {...liveStart};
  return {bytes: total.live_end ? total.live_end[i - 1] : 0, objects: total.objects_end ? total.objects_end[i - 1] : 0};
}

function peakOf(model, a, b) {
  const {total} = model;
  const slice = model.largest(total.live_peak, a, b);
  if (slice < 0) return {slice, bytes: 0, objects: 0, time: model.start};
  return {
    slice, bytes: total.live_peak[slice], objects: total.objects_peak ? total.objects_peak[slice] : NaN,
    time: model.border(slice) + (total.peak_at ? total.peak_at[slice] : 0),
  };
}

// What a row of a table with live objects has in a span.  Left is what lives at its end, and what processes had that
// ended in it.
function heapNumbers(rows, row, a, b, peak) {
  return {
    peak_bytes: peak < 0 ? 0 : rows.peak("bytes", row, peak),
    peak_objects: peak < 0 || !rows.has.has("peak_objects") ? NaN : rows.peak("objects", row, peak),
    start_bytes: rows.live("bytes", row, a), start_objects: rows.live("objects", row, a),
    left_bytes: rows.live("bytes", row, b) + rows.in("ended_bytes", row, a, b),
    left_objects: rows.live("objects", row, b) + rows.in("ended_objects", row, a, b),
    allocated_bytes: rows.in("alloc_bytes", row, a, b), allocated_objects: rows.in("allocs", row, a, b),
    temporary_objects: rows.in("temporary", row, a, b), resizes: rows.in("resizes", row, a, b),
  };
}

const THREAD_FIELDS = ["events", "allocs", "alloc_bytes", "frees", "free_bytes", "user_ns", "system_ns", "waiting_ns",
                       "blocked_ns", "lock_ns"];

function threadNumbers(model, a, b) {
  return model.threads.map((thread, row) => {
    const result = {pid: thread.pid, tid: thread.tid, name: thread.title, other: thread.other === true};
    for (const field of THREAD_FIELDS) result[field] = model.byThread.in(field, row, a, b);
    return result;
  });
}

function typeNumbers(model, a, b) {
  return model.types.map((type, row) => ({
    name: textOf(type.name), kind: textOf(type.kind), events: model.byType.in("events", row, a, b),
  }));
}

// The collections that were under way in a span.
function collectionNumbers(model, a, b) {
  const [from, to] = [model.border(a), model.border(b)];
  return model.collections.map(({phases, process, ...one}, i) => ({...one, i}))
    .filter((one) => one.begin < to && (one.end === null || one.end >= from));
}

function numbersOf(model, a, b) {
  const sum = (name) => model.totalSum[name][b] - model.totalSum[name][a];
  const peak = peakOf(model, a, b);
  const end = liveAt(model, b);
  const gone = (name) => model.bySize.all(name, a, b);
  const heap = (list, rows, label) =>
    list.map((one, row) => ({...label(one), ...heapNumbers(rows, row, a, b, peak.slice)}));
  const types = typeNumbers(model, a, b);
  return {
    a, b, from: model.border(a), to: model.border(b),
    events: types.reduce((n, type) => n + type.events, 0),
    allocated: {objects: sum("allocs"), bytes: sum("alloc_bytes")},
    freed: {objects: sum("frees"), bytes: sum("free_bytes")},
    resizes: sum("resizes"),
    temporary: {objects: sum("temporary_objects"), bytes: sum("temporary_bytes")},
    live_start: liveAt(model, a), live_end: end, peak,
    left: {bytes: end.bytes + gone("ended_bytes"), objects: end.objects + gone("ended_objects")},
    sites: heap(model.groups, model.byGroup, (group) => ({
      function: group.name, module: group.module, file: group.file, line: group.line, other: group.other})),
    sizes: heap(model.sizes, model.bySize, (one) => ({from: one.from})),
    lifetimes: model.lifetimes.map((one, row) => ({
      from: one.from, objects: model.byLife.in("objects", row, a, b), bytes: model.byLife.in("bytes", row, a, b)})),
    pools: heap(model.pools, model.byPool, (pool) => ({
      pid: pool.pid, pool: textOf(pool.pool), label: textOf(pool.label), class: textOf(pool.class || pool.name),
      other: pool.other === true})),
    collections: collectionNumbers(model, a, b),
    threads: threadNumbers(model, a, b),
    types,
  };
}
