// events.js -- the raw events that the report has: a list of which only what is seen is made; search, kinds and types
//
// SPDX-License-Identifier: BSD-2-Clause
//
// Between two windows stands a line that says how to see what is not here.  Rows have one height, so that the place of
// any of 100,000 follows from its number.

const ROW = 22;
const SPARE = 12; // rows made above and below what is seen

class Events {
  constructor(model, view) {
    Object.assign(this, {model, view, hidden: new Set(), chosen: -1, found: null, texts: []});
    this.list = byId("event-list");
    this.space = byId("event-space");
    this.match = matcher("", false);
    this.makeKinds();
    this.makeTypes();
    this.listen();
    this.filter();
    view.listen(() => {}, () => this.follow());
  }

  listen() {
    this.list.addEventListener("scroll", () => this.schedule());
    this.list.addEventListener("keydown", (event) => this.key(event));
    this.space.addEventListener("click", (event) => {
      const row = event.target.closest("[data-row]");
      if (row) this.choose(Number(row.dataset.row), true);
    });
    let timer = 0;
    for (const id of ["event-search", "event-regular"])
      byId(id).addEventListener("input", () => {
        clearTimeout(timer);
        timer = setTimeout(() => this.search(byId("event-search").value, byId("event-regular").checked), 150);
      });
    for (const [id, all] of [["types-all", true], ["types-none", false]])
      byId(id).addEventListener("click", () => {
        this.hidden = new Set(all ? [] : this.model.raw.types.keys());
        this.showChoice();
        this.filter();
      });
  }

  // A button for each kind that there is.
  makeKinds() {
    const {types} = this.model.raw;
    this.kinds = [...new Set(types.map((type) => type.kind))].sort();
    this.kindButtons = this.kinds.map((kind) => {
      const button = element("button", "chip", kind);
      button.addEventListener("click", () => {
        const on = button.getAttribute("aria-pressed") !== "true";
        types.forEach((type, i) => type.kind === kind && this.hidden[on ? "delete" : "add"](i));
        this.showChoice();
        this.filter();
      });
      return button;
    });
    byId("kinds").append(...this.kindButtons);
  }

  makeTypes() {
    const {raw} = this.model;
    const numbers = new Array(raw.types.length).fill(0);
    for (let i = 0; i < raw.count; ++i) ++numbers[raw.type[i]];
    const order = [...raw.types.keys()].sort((x, y) => raw.types[x].name < raw.types[y].name ? -1 : 1);
    this.boxes = [];
    byId("type-list").append(...order.map((i) => {
      const box = element("input");
      box.type = "checkbox";
      box.addEventListener("change", () => {
        this.hidden[box.checked ? "delete" : "add"](i);
        this.showChoice();
        this.filter();
      });
      this.boxes[i] = box;
      const label = element("label", "type");
      label.append(box, element("span", "", raw.types[i].name), element("span", "number", count(numbers[i])));
      return label;
    }));
    this.showChoice();
  }

  showChoice() {
    const {types} = this.model.raw;
    this.boxes.forEach((box, i) => (box.checked = !this.hidden.has(i)));
    this.kinds.forEach((kind, k) => {
      const of = [...types.keys()].filter((i) => types[i].kind === kind);
      const on = of.filter((i) => !this.hidden.has(i)).length;
      this.kindButtons[k].setAttribute("aria-pressed", on === of.length ? "true" : on ? "mixed" : "false");
    });
    byId("types-said").textContent = `${types.length - this.hidden.size} of ${types.length} types`;
  }

  search(text, regular) {
    this.match = matcher(text, regular);
    this.filter();
    return this.found.filter((i) => i >= 0).length;
  }

  // found: the numbers of events that are shown, and ~w before the first of window w, where something is left out.
  filter() {
    const {model, match} = this;
    const {raw, windows} = model;
    const found = [];
    let events = 0;
    windows.forEach((window, w) => {
      if (this.before(w)) found.push(~w);
      for (let i = window.begin; i < window.begin + window.count; ++i) {
        if (this.hidden.has(raw.type[i]) || !(match.empty || match.test(this.text(i)))) continue;
        found.push(i);
        ++events;
      }
    });
    if (this.before(windows.length)) found.push(~windows.length);
    this.found = found;
    this.shownEvents = events;
    const said = byId("event-found");
    said.textContent = match.wrong || `${count(events)} of ${count(raw.count)} events`;
    said.classList.toggle("wrong", Boolean(match.wrong));
    this.space.style.height = `${found.length * ROW}px`;
    this.choose(-1);
    this.schedule();
  }

  // What is not here between the windows w - 1 and w: {from, to}, or null.
  before(w) {
    const {windows, start, last} = this.model;
    const from = w ? windows[w - 1].to : start;
    const to = w < windows.length ? windows[w].from : last;
    const previous = w ? windows[w - 1].first + windows[w - 1].count : 0;
    const next = w < windows.length ? windows[w].first : Number(this.model.data.events) || previous;
    return next > previous && to > from ? {from, to, events: next - previous} : null;
  }

  value(i, k) {
    const {raw} = this.model;
    const at = raw.first[i] + k;
    return raw.big.has(at) ? raw.big.get(at) : raw.values[at];
  }

  valueText(i, k) {
    const {raw} = this.model;
    const {sort} = raw.types[raw.type[i]].params[k];
    const value = this.value(i, k);
    if (sort === "P" || sort === "A") return this.addressText(i, `0x${value.toString(16)}`);
    if (sort === "S") return JSON.stringify(raw.strings[value] === undefined ? "" : raw.strings[value]);
    if (sort === "I") return raw.strings[value - 1] === undefined ? "unknown" : JSON.stringify(raw.strings[value - 1]);
    return String(value);
  }

  // An address with the label that it has at an event, as eventcnv shows it.
  addressText(i, address) {
    const {labels, raw, allThreads} = this.model;
    const given = labels.get(`${allThreads[raw.thread[i]].pid} ${address}`) || [];
    const {label} = given.filter((one) => one.event <= i).pop() || {};
    return label ? `${address}[${JSON.stringify(label)}]` : address;
  }

  parameters(i) {
    const {raw} = this.model;
    return raw.types[raw.type[i]].params.map((one, k) => `${one.name}=${this.valueText(i, k)}`).join(" ");
  }

  caller(i) {
    const row = this.model.raw.site[i];
    return row < 0 ? "" : this.model.groups[this.model.groupOfRow[row]].name;
  }

  text(i) {
    const {raw} = this.model;
    return `${raw.types[raw.type[i]].name} ${this.parameters(i)} ${this.caller(i)} ${this.threadText(i)}`;
  }

  threadText(i) {
    const {other, title, pid, tid} = this.model.allThreads[this.model.raw.thread[i]];
    return other ? title : `${pid}/${tid} ${title}`;
  }

  // The sentence of an event, as eventcnv --describe has it.
  describe(i) {
    const {raw} = this.model;
    const type = raw.types[raw.type[i]];
    const values = new Map(type.params.map((one, k) => [one.name, this.valueText(i, k)]));
    const valueOf = (all, name) => (values.has(name) ? values.get(name) : all);
    const sentence = (type.format || type.name).replace(/%\*?(\w+)/g, valueOf);
    const caller = this.caller(i);
    return `${sentence}${caller ? `, asked for by ${caller}` : ""}`;
  }

  schedule() {
    if (this.pending) return;
    this.pending = requestAnimationFrame(() => {
      this.pending = 0;
      this.fill();
    });
  }

  fill() {
    const {list, found, wanted} = this;
    if (!list.clientHeight) return;
    if (wanted) list.scrollTop = Math.max(0, wanted.row * ROW - list.clientHeight * wanted.part);
    this.wanted = null;
    const first = Math.max(0, Math.floor(list.scrollTop / ROW) - SPARE);
    const last = Math.min(found.length, Math.ceil((list.scrollTop + list.clientHeight) / ROW) + SPARE);
    const rows = [];
    for (let row = first; row < last; ++row) rows.push(found[row] < 0 ? this.gapRow(row) : this.eventRow(row));
    this.space.replaceChildren(...rows);
  }

  placed(row, className) {
    const line = element("div", className);
    line.style.top = `${row * ROW}px`;
    line.setAttribute("role", "option");
    line.setAttribute("aria-posinset", String(row + 1));
    line.setAttribute("aria-setsize", String(this.found.length));
    return line;
  }

  eventRow(row) {
    const {raw, allThreads} = this.model;
    const i = this.found[row];
    const thread = allThreads[raw.thread[i]];
    const line = this.placed(row, i === this.chosen ? "event chosen" : "event");
    line.dataset.row = String(row);
    line.id = `event-${row}`;
    line.setAttribute("aria-selected", String(i === this.chosen));
    const who = thread.other ? thread.title : `${thread.pid}/${thread.tid}`;
    const cells = [["time", seconds(raw.time[i])], ["who", who], ["name", raw.types[raw.type[i]].name],
                   ["parameters", this.parameters(i)], ["caller", this.caller(i)]];
    line.append(...cells.map(([className, text]) => element("span", className, text)));
    return line;
  }

  gapRow(row) {
    const gap = this.before(~this.found[row]);
    const line = this.placed(row, "gap");
    const cell = element("span", "", `${things(gap.events, "event")} not in this report:  `);
    line.setAttribute("aria-disabled", "true");
    cell.append(element("code", "", this.command(gap.from, gap.to)));
    line.append(cell);
    return line;
  }

  command(from, to) {
    const logs = listOf(this.model.data.logs, "the logs").map(shellWord).join(" ");
    return `eventcnv --from ${seconds(from)} --to ${seconds(to)} ${logs || "LOG"}`;
  }

  choose(row, tell) {
    const i = row >= 0 && row < this.found.length ? this.found[row] : -1;
    this.chosen = i < 0 ? -1 : i;
    this.row = row;
    byId("event-says").textContent = i < 0 ? "Choose an event to have it in words."
      : `${seconds(this.model.raw.time[i])} s, ${this.threadText(i)}: ${this.describe(i)}.`;
    if (i < 0) this.list.removeAttribute("aria-activedescendant");
    else this.list.setAttribute("aria-activedescendant", `event-${row}`);
    if (i >= 0 && tell) {
      const {view} = this;
      const time = this.model.raw.time[i];
      this.quiet = true;
      if (time < view.from || time > view.to) view.show(time - view.length / 2, time + view.length / 2);
      view.at(time);
    }
    this.schedule();
  }

  // The row of the first event at a time or behind it, or of the gap in which that time lies.
  rowAt(time) {
    const {found, model} = this;
    const endOf = (row) => {
      if (found[row] >= 0) return model.raw.time[found[row]];
      const gap = this.before(~found[row]);
      return gap ? gap.to - 1 : 0;
    };
    let [low, high] = [0, found.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (endOf(middle) < time) low = middle + 1;
      else high = middle;
    }
    return Math.min(low, found.length - 1);
  }

  // The moment has moved in the graph: the list goes there.  Or the chosen span has: to its begin.
  follow() {
    const {view, model} = this;
    const begin = model.border(view.chosen.a);
    const moved = view.moment !== null && view.moment !== this.followed;
    const changed = begin !== this.begin;
    this.sayWindow();
    this.followed = view.moment;
    this.begin = begin;
    const quiet = this.quiet;
    this.quiet = false;
    if (quiet || !this.found.length) return;
    if (moved) {
      const row = this.rowAt(view.moment);
      this.choose(row);
      this.bring(row, 0.5);
    } else if (changed) {
      this.bring(this.rowAt(Math.max(begin, view.selection ? begin : view.from)), 0);
    }
  }

  // A row comes into the list at a part of its height; where the list cannot be seen, when it can.
  bring(row, part) {
    this.wanted = {row, part};
    this.schedule();
  }

  // How far the report has the events of the chosen span, and how to see the others.
  sayWindow() {
    const {model, view} = this;
    const {selection} = view;
    const [from, to] = selection ? [model.border(selection.a), model.edge(selection.b)] : [view.from, view.to];
    const inside = model.windows.some((one) => one.from <= from && one.to >= to);
    byId("event-window").textContent = inside || !model.slices
      ? "The report has all events of this span."
      : "The report has only some events of this span. All of them:";
    byId("event-command").textContent = inside ? "" : this.command(from, to);
  }

  key(event) {
    const page = Math.max(1, Math.floor(this.list.clientHeight / ROW) - 1);
    const steps = {ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity};
    const step = steps[event.key];
    if (step === undefined || event.ctrlKey || event.altKey || event.metaKey || !this.found.length) return;
    event.preventDefault();
    if (this.wanted) this.fill();
    const from = this.row === undefined || this.row < 0 ? Math.floor(this.list.scrollTop / ROW) : this.row;
    const row = Math.min(this.found.length - 1, Math.max(0, from + step));
    this.choose(row, true);
    const top = row * ROW;
    const room = this.list.clientHeight - ROW;
    if (top < this.list.scrollTop) this.list.scrollTop = top;
    else if (top > this.list.scrollTop + room) this.list.scrollTop = top - room;
  }
}

// A word as a shell takes it.
function shellWord(word) {
  const text = String(word);
  return /^[\w.,:@%+=/-]+$/.test(text) ? text : `'${text.replace(/'/g, "'\\''")}'`;
}
