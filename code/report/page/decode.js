// decode.js -- the data of the report: from the text in the page to typed arrays
//
// SPDX-License-Identifier: BSD-2-Clause
//
// The data may be damaged, or made by somebody else.  Nothing here reads outside of it, and nothing is made of a size
// that it says unless that is within LIMIT: whatever is wrong is a Damaged, with the name of the part.

class Damaged extends Error {}

function damaged(what) {
  throw new Damaged(what);
}

const LIMIT = {slices: 4096, rows: 8192, cells: 1 << 24, fields: 32, raw: 1 << 20, list: 1 << 16};

const numberOf = (value, what) => (typeof value === "number" && Number.isFinite(value) ? value : damaged(what));
const countOf = (value, limit, what) =>
  Number.isInteger(value) && value >= 0 && value <= limit ? value : damaged(what);
const textOf = (value) => (typeof value === "string" ? value : "");
const listOf = (value, what) =>
  value === undefined ? [] : Array.isArray(value) && value.length <= LIMIT.list ? value : damaged(what);
const recordOf = (value, what) =>
  value !== null && typeof value === "object" && !Array.isArray(value) ? value : damaged(what);
const recordsOf = (value, what) => listOf(value, what).map((one) => recordOf(one, what));

// A cursor in packed bytes.  Numbers above 2^53 come as BigInt.
class Cursor {
  constructor(base64, what) {
    this.what = what;
    this.at = 0;
    if (typeof base64 !== "string") damaged(what);
    let binary;
    try {
      binary = atob(base64);
    } catch {
      damaged(what);
    }
    this.bytes = new Uint8Array(binary.length);
    for (let i = 0; i < binary.length; ++i) this.bytes[i] = binary.charCodeAt(i);
  }

  byte() {
    if (this.at >= this.bytes.length) damaged(this.what);
    return this.bytes[this.at++];
  }

  varint() {
    let value = 0;
    for (let i = 0, scale = 1; i < 7; ++i, scale *= 128) {
      const byte = this.byte();
      value += (byte & 127) * scale;
      if (byte < 128) return value;
    }
    let big = BigInt(value);
    for (let shift = 49n; shift < 70n; shift += 7n) {
      const byte = this.byte();
      big |= BigInt(byte & 127) << shift;
      if (byte < 128) return narrow(BigInt.asUintN(64, big));
    }
    return damaged(this.what);
  }

  signed() {
    const value = this.varint();
    if (typeof value === "number") return value % 2 ? -(value + 1) / 2 : value / 2;
    return narrow(value & 1n ? -((value + 1n) >> 1n) : value >> 1n);
  }

  number() {
    const value = this.varint();
    return typeof value === "number" ? value : damaged(this.what);
  }

  signedNumber() {
    const value = this.signed();
    return typeof value === "number" ? value : damaged(this.what);
  }

  double() {
    if (this.at + 8 > this.bytes.length) damaged(this.what);
    this.at += 8;
    return new DataView(this.bytes.buffer).getFloat64(this.at - 8, true);
  }

  end() {
    if (this.at !== this.bytes.length) damaged(this.what);
  }
}

// A whole number as a Number where that is exact.
function narrow(big) {
  return big <= BigInt(Number.MAX_SAFE_INTEGER) && big >= -BigInt(Number.MAX_SAFE_INTEGER) ? Number(big) : big;
}

// seriesOf -- one number for each slice; null where the report has none
function seriesOf(base64, slices, what) {
  if (base64 === undefined || base64 === null) return null;
  const cursor = new Cursor(base64, what);
  const series = new Float64Array(slices);
  let value = 0;
  for (let i = 0; i < slices; ++i) {
    value += cursor.signedNumber();
    series[i] = value;
  }
  cursor.end();
  return series;
}

// tableOf -- numbers by row, slice and field: {rows, slices, field name: Float64Array of rows * slices}
function tableOf(packed, rows, slices, what) {
  const table = {rows, slices, names: []};
  if (packed === undefined || packed === null) return table;
  recordOf(packed, what);
  const names = listOf(packed.fields, what).map(String);
  if (packed.rows !== rows || names.length > LIMIT.fields) damaged(what);
  if (rows * slices * names.length > LIMIT.cells) damaged(what);
  const values = names.map(() => new Float64Array(rows * slices));
  const cursor = new Cursor(packed.data, what);
  for (let row = 0; row < rows; ++row)
    for (let slice = -1, gap; (gap = cursor.number()) !== 0; ) {
      slice += gap;
      if (slice >= slices) damaged(what);
      for (const value of values) value[row * slices + slice] = cursor.signedNumber();
    }
  cursor.end();
  table.names = names;
  names.forEach((name, i) => (table[name] = values[i]));
  return table;
}

// sums -- for rows of `slices` numbers: for each row what came before each border, slices + 1 of them
function sums(values, rows, slices) {
  const result = new Float64Array(rows * (slices + 1));
  for (let row = 0, from = 0, to = 0; row < rows; ++row, ++to)
    for (let i = 0; i < slices; ++i, ++from, ++to) result[to + 1] = result[to] + values[from];
  return result;
}

// typesOf -- the types of events, with what their parameters are
function typesOf(list, what) {
  return recordsOf(list, what).map((type) => ({
    name: textOf(type.name),
    kind: textOf(type.kind),
    format: textOf(type.format),
    site: type.site === true,
    params: recordsOf(type.params, what).map((one) => ({name: textOf(one.name), sort: textOf(one.sort).charAt(0)})),
  }));
}

// rawOf -- the raw events of all windows, in order; `types` are those that they may be of
//
// An event's parameters begin at values[first[i]]; where that is NaN, `big` has the value by the same index, if at all.
function rawOf(raw, types, windows, threads, sites) {
  const what = "the raw events";
  if (raw === undefined || raw === null)
    return {count: 0, types, strings: [], time: new Float64Array(0), type: [], thread: [], site: [], first: [0],
            values: [], big: new Map()};
  recordOf(raw, what);
  const cursor = new Cursor(raw.data, what);
  const count = countOf(raw.count, Math.min(LIMIT.raw, cursor.bytes.length / 3), what);
  const strings = listOf(raw.strings, what).map(textOf);
  const result = {count, types, strings, time: new Float64Array(count), type: new Uint16Array(count),
                  thread: new Uint16Array(count), site: new Int32Array(count).fill(-1),
                  first: new Uint32Array(count + 1), values: [], big: new Map()};
  let i = 0;
  for (const window of windows) {
    const last = {P: 0, A: 0};
    let time = window.from;
    if (window.count > count - i) damaged(what);
    for (const end = i + window.count; i < end; ++i) {
      time += cursor.number();
      result.time[i] = time;
      const type = (result.type[i] = countOf(cursor.varint(), types.length - 1, what));
      result.thread[i] = countOf(cursor.varint(), threads - 1, what);
      for (const {sort} of types[type].params) pushValue(result, cursor, sort, last);
      if (types[type].site) result.site[i] = countOf(cursor.varint(), sites, what) - 1;
      result.first[i + 1] = result.values.length;
    }
  }
  if (i !== count) damaged(what);
  cursor.end();
  result.values = Float64Array.from(result.values);
  return result;
}

function pushValue(result, cursor, sort, last) {
  let value;
  if (sort === "P" || sort === "A") {
    const difference = cursor.signed();
    value = typeof difference === "number" && typeof last[sort] === "number" ? last[sort] + difference : NaN;
    if (!(value >= 0 && value <= Number.MAX_SAFE_INTEGER))
      value = narrow(BigInt.asUintN(64, BigInt(last[sort]) + BigInt(difference)));
    last[sort] = value;
  } else {
    value = sort === "D" ? cursor.double() : cursor.varint();
  }
  if (typeof value === "bigint") {
    result.big.set(result.values.length, value);
    value = NaN;
  }
  result.values.push(value);
}
