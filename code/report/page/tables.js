// tables.js -- tables of the numbers of the chosen span: sites, sizes, lifetimes, pools, threads, types of events
//
// SPDX-License-Identifier: BSD-2-Clause
//
// A table is a list of columns: how to name, show and sort one.  Cells of numbers have the exact value in data-value.

const TEMPORARY = "freed by the same thread before it did anything else";
const LEFT = "bytes that live at the end of the span, or that a process had which ended in it";
const FEW = 15;
const PRINTED = 50;

// Columns: {title, hint, of: row -> value, show: value -> text, text: it is no number, bar: of what largest}
class Table {
  constructor(place, columns, options = {}) {
    Object.assign(this, {place, columns, options, rows: [], all: false});
    this.sort = options.sort === undefined ? -1 : options.sort;
    this.falling = true;
    this.table = element("table");
    this.head = this.table.createTHead().insertRow();
    this.body = this.table.createTBody();
    this.more = element("button", "more");
    this.more.addEventListener("click", () => {
      this.all = !this.all;
      this.fill();
    });
    const scroll = element("div", "scroll");
    scroll.tabIndex = 0;
    scroll.setAttribute("role", "group");
    scroll.setAttribute("aria-label", options.label || "table");
    scroll.append(this.table);
    place.append(scroll, this.more);
    Table.every.push(this);
    this.table.createCaption().textContent = options.label || "";
    this.heads();
  }

  heads() {
    this.columns.forEach((column, i) => {
      const cell = element("th", column.text ? "text" : "");
      cell.scope = "col";
      if (this.options.sort === undefined) cell.textContent = column.title;
      else {
        const button = element("button", "sort", column.title);
        if (column.hint) button.title = column.hint;
        button.addEventListener("click", () => this.sortBy(i));
        cell.append(button);
      }
      this.head.append(cell);
    });
  }

  sortBy(i) {
    this.falling = this.sort === i ? !this.falling : !this.columns[i].text;
    this.sort = i;
    this.fill();
  }

  show(rows) {
    this.rows = rows;
    this.fill();
  }

  sorted() {
    if (this.sort < 0) return this.rows;
    const column = this.columns[this.sort];
    const way = this.falling ? -1 : 1;
    const unknown = column.text ? "" : -Infinity;
    const value = (row) => (Number.isNaN(column.of(row)) ? unknown : column.of(row));
    return [...this.rows].sort((x, y) => {
      const [one, two] = [value(x), value(y)];
      return one < two ? -way : one > two ? way : 0;
    });
  }

  fill() {
    const rows = this.sorted();
    const few = Table.printing ? PRINTED : this.options.few || FEW;
    const shown = this.all && !Table.printing ? rows : rows.slice(0, few);
    const most = this.columns.map((column) => (column.bar ? Math.max(0, ...rows.map(column.of)) : 0));
    this.body.replaceChildren(...shown.map((row) => this.row(row, most)));
    if (!rows.length) {
      const cell = this.body.insertRow().insertCell();
      cell.colSpan = this.columns.length;
      cell.className = "text none";
      cell.textContent = this.options.none || "none in this span";
    }
    this.more.hidden = rows.length <= few;
    this.more.textContent = this.all ? "Show fewer" : `Show all ${count(rows.length)}`;
    [...this.head.cells].forEach((cell, i) =>
      i === this.sort ? cell.setAttribute("aria-sort", this.falling ? "descending" : "ascending")
        : cell.removeAttribute("aria-sort"));
  }

  row(row, most) {
    const line = element("tr");
    this.columns.forEach((column, i) => {
      const value = column.of(row);
      const text = column.show ? column.show(value, row) : String(value);
      const cell = element(i ? "td" : "th", column.text ? "text" : column.bar ? "barred" : "", text);
      if (!i) cell.scope = "row";
      if (!column.text) cell.dataset.value = String(value);
      if (column.exact && Number.isFinite(value)) cell.title = column.exact(value);
      if (column.title_of) cell.title = column.title_of(row);
      if (column.mark) cell.prepend(column.mark(row));
      if (column.bar) cell.prepend(barOf(value, most[i]));
      line.append(cell);
    });
    return line;
  }
}

Table.every = [];
Table.printing = false;

function barOf(value, most) {
  const bar = element("span", "bar");
  const fill = element("span");
  fill.style.width = `${most > 0 && value > 0 ? Math.max(0.5, (100 * value) / most) : 0}%`;
  bar.append(fill);
  bar.setAttribute("aria-hidden", "true");
  return bar;
}

const exactBytes = (n) => things(n, "byte");
const exactTime = (ns) => `${count(ns)} ns`;
const lifetime = (ns) => (ns < 0 ? "temporary" : duration(ns).replace(/\.0+ /, " "));
const column = {
  text: (title, of, more) => ({title, of, text: true, ...more}),
  bytes: (title, of, more) => ({title, of, show: bytes, exact: exactBytes, ...more}),
  count: (title, of, more) => ({title, of, show: count, ...more}),
  time: (title, of, more) => ({title, of, show: (ns) => (ns > 0 ? duration(ns) : "0"), exact: exactTime, ...more}),
};

// matcher -- what a search means: a test of a text, or a message why it means nothing
function matcher(text, regular) {
  if (!text) return {test: () => true, empty: true};
  if (!regular) {
    const low = text.toLowerCase();
    return {test: (one) => one.toLowerCase().includes(low)};
  }
  try {
    const expression = new RegExp(text, "i");
    return {test: (one) => expression.test(one)};
  } catch (error) {
    return {test: () => false, wrong: `Not a regular expression: ${error.message.replace(/^.*: /, "")}`};
  }
}

class Performance {
  constructor(model, view, lane) {
    Object.assign(this, {model, view, lane});
    this.makeSites();
    this.makeOthers();
    for (const id of ["site-search", "site-regular"]) byId(id).addEventListener("input", () => this.showSites());
    view.listen(() => {}, () => this.update());
    this.update();
  }

  makeSites() {
    const {view, model} = this;
    const part = (n) => (n > 0 && share(n, this.numbers.peak.bytes)) || "\u2013";
    const swatch = (row) => {
      const mark = element("span", "swatch");
      mark.style.backgroundColor = `var(--${view.colourOf(row.group)})`;
      return mark;
    };
    const source = column.text("Source", (row) => (row.file ? `${row.file}:${row.line}` : ""));
    this.sites = new Table(byId("sites"), [
      column.text("Function", (row) => row.function, {mark: swatch, title_of: (row) => row.function}),
      column.bytes("At peak", (row) => row.peak_bytes, {hint: "bytes that it held at the peak of the span"}),
      column.bytes("Share", (row) => row.peak_bytes, {show: part, hint: "of all at the peak"}),
      column.bytes("Left", (row) => row.left_bytes, {hint: LEFT}),
      column.bytes("Change", (row) => row.left_bytes - row.start_bytes, {show: change, hint: "over the span"}),
      column.bytes("Allocated", (row) => row.allocated_bytes, {hint: "bytes allocated in the span"}),
      column.count("Allocations", (row) => row.allocated_objects),
      column.count("Resizes", (row) => row.resizes),
      column.count("Temporary", (row) => row.temporary_objects, {hint: TEMPORARY}),
      column.text("Module", (row) => baseName(row.module), {title_of: (row) => row.module}),
      ...(model.functions.some((one) => one.file) ? [source] : []),
    ], {sort: 1, label: "Callers, by function"});
    byId("sites-block").hidden = !model.sites.length || model.data.callers === "none";
    byId("no-callers").hidden = !byId("sites-block").hidden;
    if (!model.stacks) byId("directions").hidden = true;
  }

  makeOthers() {
    const heap = [
      column.count("Allocations", (row) => row.allocated_objects),
      column.bytes("Allocated", (row) => row.allocated_bytes, {bar: true}),
      column.bytes("At peak", (row) => row.peak_bytes), column.bytes("Left", (row) => row.left_bytes),
    ];
    this.sizes = new Table(byId("sizes"), [{title: "Size from", of: (row) => row.from, show: bytesShort}, ...heap],
                           {label: "Sizes of allocated objects"});
    this.lifetimes = new Table(byId("lifetimes"), [
      {title: "Lived from", of: (row) => row.from, show: lifetime},
      column.count("Objects", (row) => row.objects, {bar: true}),
      column.bytes("Bytes", (row) => row.bytes, {bar: true}),
    ], {label: "How long objects lived that were freed in the span"});
    this.pools = new Table(byId("pools"), [
      column.text("Pool", (row) => (row.other ? "other pools" : row.label || row.pool)),
      column.text("Class", (row) => row.class),
      column.count("Process", (row) => row.pid, {show: (n) => String(n || "")}), ...heap,
    ], {label: "Pools", sort: 4, few: 20});
    this.threads = new Table(byId("threads"), this.threadColumns(), {label: "Threads", sort: 1, few: 20});
    this.collections = new Table(byId("collection-table"), this.collectionColumns(),
                                 {label: "Collections", sort: 6, few: 10});
    this.types = new Table(byId("types"), [
      column.text("Type", (row) => row.name), column.text("Kind", (row) => row.kind),
      column.count("Events", (row) => row.events, {bar: true}),
    ], {label: "Types of events", sort: 2, few: 12});
  }

  collectionColumns() {
    const see = (row) => {
      const button = element("button", "see", "See");
      button.setAttribute("aria-label", `See collection ${row.number} in the graph`);
      button.addEventListener("click", () => this.lane.see(row.i));
      return button;
    };
    const lasted = (row) => (row.end === null ? NaN : row.end - row.begin);
    const known = (ns) => (Number.isFinite(ns) ? duration(ns) : "not complete");
    return [
      column.time("At", (row) => row.begin, {show: (ns) => `${seconds(ns)} s`, mark: see}),
      column.text("Why", (row) => row.why), column.count("Number", (row) => row.number),
      column.bytes("There were", (row) => row.condemned), column.bytes("Taken back", (row) => row.reclaimed),
      column.count("Pauses", (row) => row.pauses, {hint: "stops of all threads, and steps of one while others run"}),
      column.time("Longest", (row) => row.longest, {bar: true}),
      column.time("Paused", (row) => row.paused, {hint: "all stops and steps together"}),
      column.time("Lasted", lasted, {show: known}), column.text("Pool", (row) => row.label || row.pool),
      column.count("Process", (row) => row.pid, {show: String}),
    ];
  }

  threadColumns() {
    return [
      column.text("Thread", (row) => (row.other ? row.name : `${row.name} ${row.tid}`)),
      column.count("Events", (row) => row.events), column.count("Allocations", (row) => row.allocs),
      column.bytes("Allocated", (row) => row.alloc_bytes), column.count("Frees", (row) => row.frees),
      column.time("User", (row) => row.user_ns), column.time("System", (row) => row.system_ns),
      column.time("Waiting", (row) => row.waiting_ns, {hint: "for a processor"}),
      column.time("Blocked", (row) => row.blocked_ns),
      column.time("On locks", (row) => row.lock_ns, {hint: "known where Sync events were recorded"}),
    ];
  }

  update() {
    const {a, b} = this.view.chosen;
    this.numbers = numbersOf(this.model, a, b);
    this.showTiles();
    this.showSites();
    const some = (row) => row.allocated_objects || row.allocated_bytes || row.peak_bytes || row.left_bytes;
    this.sizes.show(this.numbers.sizes.filter(some));
    this.lifetimes.show(this.lived());
    this.pools.show(this.numbers.pools.filter(some));
    this.threads.show(this.numbers.threads.filter((row) => THREAD_FIELDS.some((field) => row[field] > 0)));
    this.collections.show(this.numbers.collections);
    this.types.show(this.numbers.types.filter((row) => row.events > 0));
  }

  // Up to the longest that an object lived in the span; a class in between that is empty belongs to the picture.
  lived() {
    const rows = this.numbers.lifetimes.filter((row) => row.objects || row.from >= 0);
    return rows.slice(0, rows.findLastIndex((row) => row.objects > 0) + 1);
  }

  showSites() {
    const text = byId("site-search").value;
    const match = matcher(text, byId("site-regular").checked);
    const fields = ["peak_bytes", "left_bytes", "start_bytes", "allocated_objects", "allocated_bytes", "resizes"];
    const rows = this.numbers.sites.map((row, group) => ({...row, group}))
      .filter((row) => fields.some((field) => row[field]));
    const found = rows.filter((row) => match.test(`${row.function} ${row.module} ${row.file}`));
    byId("site-found").textContent = match.wrong ||
      (match.empty ? things(rows.length, "function") : `${found.length} of ${rows.length}`);
    byId("site-found").classList.toggle("wrong", Boolean(match.wrong));
    this.sites.show(found);
  }

  showTiles() {
    const n = this.numbers;
    const at = n.peak.slice < 0 ? "" : `at ${moment(n.peak.time, Math.max(1, this.model.slice / 10))}`;
    const first = `at first ${bytes(n.live_start.bytes)}`;
    const lasted = Math.max(1, this.model.edge(n.b) - this.model.edge(n.a)); // the last slice may reach beyond the end
    const tiles = [
      ["Peak", bytes(n.peak.bytes), at, exactBytes(n.peak.bytes)],
      ["Left at the end", bytes(n.left.bytes), first, exactBytes(n.left.bytes)],
      ["Allocated", bytes(n.allocated.bytes), things(n.allocated.objects, "object"), exactBytes(n.allocated.bytes)],
      ["Freed", bytes(n.freed.bytes), things(n.freed.objects, "object"), exactBytes(n.freed.bytes)],
      ["Resizes", count(n.resizes), "", ""],
      ["Temporary", count(n.temporary.objects), bytes(n.temporary.bytes), TEMPORARY],
      ["Events", count(n.events), `${short((n.events / lasted) * 1e9)}/s`, ""],
    ];
    byId("tiles").replaceChildren(...tiles.map(([name, value, more, title]) => {
      const tile = element("div", "tile");
      const shown = element("dd", "", value);
      if (title) shown.title = title;
      tile.append(element("dt", "", name), shown, element("dd", "note", more));
      return tile;
    }));
  }
}
