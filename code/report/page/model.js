// model.js -- the recording, as the page knows it, and every number of a span of it
//
// SPDX-License-Identifier: BSD-2-Clause
//
// A span is [a, b) in slices.  Sums are differences of sums up to borders, so each number of a span costs the same
// however long the span is, and is exact.  What lives at border i is what lived at the start, plus what came, less what
// went.

// What a table of the report has by row: sums by field, and values where they are no sums (what lived at a peak).
class Rows {
  constructor(packed, rows, slices, start, what) {
    const table = tableOf(packed, rows, slices, what);
    this.rows = rows;
    this.slices = slices;
    this.sum = {};
    this.has = new Set(table.names);
    for (const name of table.names) if (!name.startsWith("peak_")) this.sum[name] = sums(table[name], rows, slices);
    for (const unit of ["bytes", "objects"]) {
      this[unit] = {start: startOf((start || {})[unit], rows, what), peak: table[`peak_${unit}`] || null};
      if (this[unit].peak) this.raisePeaks(unit);
    }
  }

  // The report has peaks as differences to what lived when the slice began.
  raisePeaks(unit) {
    const {peak} = this[unit];
    for (let row = 0, i = 0; row < this.rows; ++row)
      for (let slice = 0; slice < this.slices; ++slice, ++i) peak[i] += this.live(unit, row, slice);
  }

  // The sum of a field in [a, b).
  in(name, row, a, b) {
    const sum = this.sum[name];
    const base = row * (this.slices + 1);
    return sum ? sum[base + b] - sum[base + a] : 0;
  }

  // The same of all rows.
  all(name, a, b) {
    let sum = 0;
    for (let row = 0; row < this.rows; ++row) sum += this.in(name, row, a, b);
    return sum;
  }

  // What lives in the row at border i.
  live(unit, row, i) {
    return this[unit].start[row] + this.in(`in_${unit}`, row, 0, i) - this.in(`out_${unit}`, row, 0, i);
  }

  peak(unit, row, slice) {
    return this[unit].peak ? this[unit].peak[row * this.slices + slice] : this.live(unit, row, slice + 1);
  }

  // grouped -- rows that are sums of these, by lists of rows
  grouped(lists) {
    const result = Object.create(Rows.prototype);
    const n = this.slices;
    Object.assign(result, {rows: lists.length, slices: n, sum: {}, has: this.has});
    const add = (from, stride) => {
      const to = new Float64Array(lists.length * stride);
      lists.forEach((rows, group) => {
        for (const row of rows) for (let i = 0; i < stride; ++i) to[group * stride + i] += from[row * stride + i];
      });
      return to;
    };
    for (const name of Object.keys(this.sum)) result.sum[name] = add(this.sum[name], n + 1);
    for (const unit of ["bytes", "objects"])
      result[unit] = {start: add(this[unit].start, 1), peak: this[unit].peak && add(this[unit].peak, n)};
    return result;
  }
}

const SUMS = ["allocs", "alloc_bytes", "frees", "free_bytes", "resizes", "temporary_objects", "temporary_bytes"];
const TOTALS = ["live_end", "live_peak", "objects_end", "objects_peak", "peak_at", "mapped_end", "mapped_peak",
                "resident_end", "resident_peak", ...SUMS];

function startOf(list, rows, what) {
  const start = new Float64Array(rows);
  listOf(list, what).forEach((value, row) => {
    if (row < rows) start[row] = numberOf(value, what);
  });
  return start;
}

class Model {
  constructor(data) {
    recordOf(data, "the data");
    if (data.format !== 1) damaged(`its format (${String(data.format).slice(0, 20)}, not 1)`);
    this.data = data;
    this.readTime();
    this.readPeople();
    this.readTotals();
    this.readTables();
    this.readCollections();
    this.readEvents();
  }

  readTime() {
    const {data} = this;
    this.start = numberOf(data.start, "its times");
    this.end = Math.max(numberOf(data.end, "its times"), this.start);
    this.slices = countOf(data.slices, LIMIT.slices, "the number of slices");
    this.slice = countOf(data.slice, Number.MAX_SAFE_INTEGER, "the length of slices");
    if (this.slices && !this.slice) damaged("the length of slices");
    this.last = Math.max(this.end, this.start + 1);
  }

  // Processes, threads, functions, sites: what has a name.
  readPeople() {
    const {data} = this;
    this.processes = recordsOf(data.processes, "the processes");
    this.threads = recordsOf(data.threads, "the threads");
    this.allThreads = this.threads.concat(recordsOf(data.raw_threads, "the threads"));
    for (const thread of this.allThreads) {
      const process = this.processes[thread.process] || {};
      thread.title = textOf(thread.name) || (thread.other ? "other threads" : textOf(process.name) || "thread");
      thread.collector = process.collector === true;
    }
    this.marks = recordsOf(data.marks, "the marks").filter((mark) => Number.isFinite(mark.time));
    this.functions = recordsOf(data.functions, "the functions");
    this.pools = recordsOf(data.pools, "the pools");
    this.types = typesOf(data.types, "the types of events");
    this.sizes = recordsOf((data.sizes || []).map((from) => (typeof from === "number" ? {from} : from)), "the sizes");
    this.lifetimes = recordsOf((data.lifetimes || []).map((from) => (typeof from === "number" ? {from} : from)),
                               "the lifetimes");
    this.sites = recordsOf(data.sites, "the sites");
    for (const site of this.sites) {
      site.stack = listOf(site.stack, "the sites").filter((i) => this.functions[i] !== undefined);
      if (this.functions[site.function] === undefined) site.function = -1;
    }
    this.stacks = data.callers === "stacks";
  }

  readTotals() {
    const total = recordOf(this.data.total || {}, "the totals");
    this.total = {};
    for (const name of TOTALS) this.total[name] = seriesOf(total[name], this.slices, `the totals (${name})`);
    this.liveStart = {bytes: Number(total.live_start) || 0, objects: Number(total.objects_start) || 0};
    const sum = (name) => sums(this.total[name] || new Float64Array(this.slices), 1, this.slices);
    this.totalSum = {};
    for (const name of SUMS) this.totalSum[name] = sum(name);
  }

  readTables() {
    const {data, slices} = this;
    const rows = (name, list, start, what) => new Rows(data[name], list.length, slices, data[start], what);
    this.bySite = rows("bysite", this.sites, "site_start", "the numbers by site");
    this.bySize = rows("bysize", this.sizes, "size_start", "the numbers by size");
    this.byLife = rows("bylife", this.lifetimes, "", "the numbers by lifetime");
    this.byPool = rows("bypool", this.pools, "pool_start", "the numbers by pool");
    this.byThread = rows("bythread", this.threads, "", "the numbers by thread");
    this.byType = rows("bytype", this.types, "", "the numbers by type");
    this.group();
  }

  // Collections, in the order of their beginnings.
  readCollections() {
    const what = "the collections";
    const end = (value) => (value === null || value === undefined ? null : numberOf(value, what));
    const phase = (one) => ({step: one[0] === 1, begin: numberOf(one[1], what), length: numberOf(one[2], what)});
    this.collections = recordsOf(this.data.collections, what).map((one) => {
      const result = {process: Number(one.process), pool: textOf(one.pool), label: textOf(one.label), why: textOf(one.why),
                      end: end(one.end), phases: listOf(one.phases, what).map((each) => phase(listOf(each, what)))};
      for (const name of ["pid", "number", "begin", "condemned", "reclaimed", "pauses", "paused", "longest"])
        result[name] = numberOf(one[name], what);
      return result;
    });
  }

  // Rows of sites with one function are one line of the table, one band of the graph.
  group() {
    const groups = new Map();
    this.sites.forEach((site, row) => {
      const key = site.other ? "other" : site.function >= 0 ? site.function : `${site.module}+${site.offset}`;
      if (!groups.has(key)) groups.set(key, this.groupOf(site));
      groups.get(key).rows.push(row);
    });
    this.groups = [...groups.values()];
    this.byGroup = this.bySite.grouped(this.groups.map((group) => group.rows));
    this.groupOfFunction = new Map(this.groups.map((group, i) => [group.function, i]).filter(([one]) => one >= 0));
    this.groupOfRow = new Int32Array(this.sites.length);
    this.groups.forEach((group, i) => group.rows.forEach((row) => (this.groupOfRow[row] = i)));
  }

  groupOf(site) {
    const one = this.functions[site.function] || {};
    const module = textOf(one.module) || textOf(site.module);
    const offset = Number.isFinite(site.offset) ? `+0x${site.offset.toString(16)}` : "";
    return {
      name: site.other ? "other" : textOf(one.name) || baseName(module) + offset || "unknown",
      module, file: textOf(one.file), line: Number(one.line) || 0, other: site.other === true,
      function: site.function, rows: [],
    };
  }

  readEvents() {
    const what = "the windows";
    this.windows = recordsOf(this.data.windows, what).map((one) => ({
      why: textOf(one.why), from: numberOf(one.from, what), to: numberOf(one.to, what),
      first: Number(one.first) || 0, count: countOf(one.count, LIMIT.raw, what), begin: 0,
    }));
    let begin = 0;
    for (const window of this.windows) {
      window.begin = begin;
      begin += window.count;
    }
    this.raw = rawOf(this.data.raw, this.types, this.windows, this.allThreads.length, this.sites.length);
    this.readLabels();
  }

  // Of each address that has a label at some time: from which event on it has which; "" for none.
  readLabels() {
    this.labels = new Map();
    for (const {event, pid, addr, string} of recordsOf(this.data.raw_labels, "the labels")) {
      const key = `${Number(pid)} ${textOf(addr)}`;
      if (!this.labels.has(key)) this.labels.set(key, []);
      this.labels.get(key).push({event: Number(event) || 0, label: textOf(this.raw.strings[string])});
    }
  }

  // Is a series of the totals known in any slice?
  knows(name) {
    return this.total[name] !== null && this.total[name].some((value) => value >= 0);
  }

  border(i) {
    return this.start + i * this.slice;
  }

  // The same, but not behind the end: for people.
  edge(i) {
    return Math.min(this.border(i), this.last);
  }

  // The slices that hold [from, to), at least one where there are any.
  snap(from, to) {
    if (!this.slices) return {a: 0, b: 0};
    const a = Math.min(this.slices - 1, Math.max(0, Math.floor((from - this.start) / this.slice + 1e-9)));
    const b = Math.min(this.slices, Math.max(a + 1, Math.ceil((to - this.start) / this.slice - 1e-9)));
    return {a, b};
  }

  // The slice with the largest of a series, the first such; -1 without any.
  largest(series, a, b) {
    let best = -1;
    if (series) for (let i = a; i < b; ++i) if (best < 0 || series[i] > series[best]) best = i;
    return best;
  }

  // The groups that were largest at some moment of the span, largest first, at most n; never the others'.
  topGroups(a, b, n) {
    const {groups, byGroup} = this;
    const top = [];
    groups.forEach((group, i) => {
      let most = byGroup.live("bytes", i, a);
      for (let slice = a; slice < b; ++slice) most = Math.max(most, byGroup.peak("bytes", i, slice));
      if (most > 0 && !group.other) top.push([most, i]);
    });
    return top.sort((x, y) => y[0] - x[0] || x[1] - y[1]).slice(0, n).map(([, i]) => i);
  }
}

const baseName = (path) => textOf(path).replace(/^.*\//, "");
