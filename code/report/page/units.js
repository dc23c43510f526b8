// units.js -- numbers as people read them
//
// SPDX-License-Identifier: BSD-2-Clause
//
// Bytes in binary units, times in the unit that fits, a real minus sign.  Times are nanoseconds since time 0 of the
// log.

const MINUS = "\u2212";

function count(n) {
  if (!Number.isFinite(n)) return "unknown";
  const digits = String(Math.abs(Math.round(n))).replace(/\B(?=(\d{3})+$)/g, ",");
  return n < 0 ? MINUS + digits : digits;
}

// Few things: "1 object", "2,000 objects".
const things = (n, one, many) => `${count(n)} ${n === 1 ? one : many || one + "s"}`;

const BINARY = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

function bytes(n) {
  if (!Number.isFinite(n)) return "unknown";
  let value = Math.abs(n);
  let unit = 0;
  while (value >= 1023.95 && unit < BINARY.length - 1) {
    value /= 1024;
    ++unit;
  }
  return `${n < 0 ? MINUS : ""}${unit ? tenths(value) : value} ${BINARY[unit]}`;
}

// One decimal, halves to the even digit as C rounds them: the same text as that of the tools.
function tenths(value) {
  const low = Math.floor(value * 10);
  return ((value * 10 - low === 0.5 ? low + (low % 2) : Math.round(value * 10)) / 10).toFixed(1);
}

// A number of whole units, without decimals: for axes.
function bytesShort(n) {
  return bytes(n).replace(".0 ", " ");
}

function change(n) {
  return n > 0 ? "+" + bytes(n) : bytes(n);
}

function share(part, whole) {
  if (!(whole > 0)) return "";
  const percent = (100 * part) / whole;
  return percent > 0 && percent < 0.05 ? "<0.1%" : `${percent.toFixed(1)}%`;
}

// Large counts in little room: 1.2 k, 3.4 M.
function short(n) {
  const units = ["", " k", " M", " G", " T"];
  let unit = 0;
  let value = Math.abs(n);
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1000;
    ++unit;
  }
  const whole = value >= 100 || Number.isInteger(value);
  return (n < 0 ? MINUS : "") + (whole ? Math.round(value) : Number(value.toPrecision(2))) + units[unit];
}

const TIMES = [["s", 1e9], ["ms", 1e6], ["\u00b5s", 1e3], ["ns", 1]];

function duration(ns) {
  if (!Number.isFinite(ns)) return "unknown";
  if (ns >= 3600e9) return `${Math.floor(ns / 3600e9)} h ${Math.floor((ns % 3600e9) / 60e9)} min`;
  if (ns >= 300e9) return `${Math.floor(ns / 60e9)} min ${Math.floor((ns % 60e9) / 1e9)} s`;
  if (ns === 0) return "0 s";
  const [unit, scale] = TIMES.find(([, one]) => Math.abs(ns) >= one) || TIMES[3];
  const value = ns / scale;
  const decimals = unit === "ns" || Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return `${value.toFixed(decimals)} ${unit}`;
}

// A moment, exact to `step` ns, in a unit that fits the largest of its kind.
function moment(ns, step, largest) {
  const [unit, scale] = TIMES.find(([, one]) => Math.abs(largest === undefined ? ns : largest) >= one) || TIMES[0];
  const decimals = Math.max(0, Math.ceil(Math.log10(scale / Math.max(1, step)) - 1e-9));
  return `${(ns / scale).toFixed(decimals)} ${unit}`;
}

// Seconds with nine decimals, as eventcnv prints and --from takes them.
function seconds(ns) {
  const whole = BigInt(Math.round(ns));
  const text = String(whole < 0n ? -whole : whole).padStart(10, "0");
  return `${whole < 0n ? "-" : ""}${text.slice(0, -9)}.${text.slice(-9)}`;
}

// ticks -- some `wanted` round values from `from` to `to`: 1, 2, 5 of a decimal unit
function ticks(from, to, wanted) {
  const raw = (to - from) / Math.max(1, wanted);
  if (!(raw > 0)) return {step: 1, values: []};
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = Math.max(1, power * [1, 2, 5, 10].find((one) => one * power >= raw * 0.999));
  const values = [];
  for (let i = Math.ceil(from / step); i * step <= to && values.length < 100; ++i) values.push(i * step);
  return {step, values};
}

// The same of a binary unit, from 0: powers of two.
function binaryTicks(to, wanted) {
  const step = 2 ** Math.max(0, Math.ceil(Math.log2(Math.max(1, to / Math.max(1, wanted)))));
  const values = [];
  for (let value = 0; value <= to * 1.0001 && values.length < 50; value += step) values.push(value);
  return {step, values};
}
