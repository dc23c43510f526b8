// page.js -- begins: reads the data, says what was recorded, puts the parts together; or says what is wrong
//
// SPDX-License-Identifier: BSD-2-Clause
//
// The page is one file that is opened from a disk.  All text of the recording comes into it as text, never as markup.

// A moment of wall time, as people write it.
function wallTime(model) {
  const wall = /^\d{1,20}$/.test(textOf(model.data.wall)) ? BigInt(model.data.wall) : 0n;
  if (!wall) return "";
  const date = new Date(Number((wall + BigInt(Math.round(model.start))) / 1000000n));
  return Number.isNaN(date.getTime()) ? "" : date.toLocaleString("en-GB", {dateStyle: "long", timeStyle: "long"});
}

const programName = (name) => (textOf(name).startsWith("/") ? baseName(name) : textOf(name));

// The name of the recording: its programs, without the one that recorded them.
function titleOf(model) {
  const programs = model.processes.filter((one) => one.collector !== true);
  const names = [...new Set(programs.map((one) => programName(one.name)).filter(Boolean))];
  if (!names.length) return listOf(model.data.logs, "the logs").map(String).join(", ") || "a recording";
  return names.length > 4 ? `${names.slice(0, 3).join(", ")} and ${names.length - 3} more` : names.join(", ");
}

function showHeader(model) {
  const {data} = model;
  const title = titleOf(model);
  document.title = `${title} \u2013 Pawprint`;
  byId("title").textContent = title;
  const parts = [wallTime(model), duration(model.end - model.start), things(Number(data.events) || 0, "event"),
                 things(model.processes.filter((one) => one.collector !== true).length, "process", "processes")];
  byId("when").replaceChildren(...parts.filter(Boolean).map((part) => element("span", "", part)));
  const missing = [["events discarded", data.discarded], ["gaps", data.gaps], ["events lost", data.lost]]
    .filter(([, n]) => Number(n) > 0).map(([what, n]) => `${count(Number(n))} ${what}`);
  byId("lost").textContent = missing.length ? `Not all was recorded: ${missing.join(", ")}.` : "";
  byId("lost").hidden = !missing.length;
  const notes = listOf(data.notes, "the notes").map(String);
  byId("notes-block").hidden = !notes.length;
  byId("notes-title").textContent = `What to know of these numbers (${notes.length})`;
  byId("notes").replaceChildren(...notes.map((note) => element("li", "", note)));
  showAbout(model);
}

function showAbout(model) {
  const {data} = model;
  const facts = [["Logs", listOf(data.logs, "the logs").map(String).join(", ")],
                 ["Made by", `eventview ${textOf(data.version)}`],
                 ["Made", textOf(data.made).replace("T", " ").replace("Z", " UTC")], ["Command", textOf(data.command)],
                 ["Filter", textOf(data.filter)], ["Machine", textOf(data.machine)],
                 ["Finest level", model.slices ? `${count(model.slices)} slices of ${duration(model.slice)}` : ""]];
  byId("facts").replaceChildren(...facts.filter(([, text]) => text).flatMap(([name, text]) =>
    [element("dt", "", name), element("dd", "", text)]));
  const processes = new Table(byId("processes"), [
    column.count("Process", (row) => row.pid, {show: String}), column.text("Name", (row) => textOf(row.name)),
    column.time("Begins", (row) => Number(row.begin), {show: (ns) => moment(ns, 1000, model.end)}),
    column.time("Ends", (row) => (Number.isFinite(row.ended) ? row.ended : NaN),
                {show: (ns) => (Number.isFinite(ns) ? moment(ns, 1000, model.end) : "")}),
    column.text("How", (row) => textOf(row.how)),
  ], {label: "Processes", few: 20});
  processes.show(model.processes);
}

// Buttons and fields above the graph.
function listenBar(model, view, graph) {
  const actions = {all: () => view.all(), "zoom-in": () => view.zoom(0.5), "zoom-out": () => view.zoom(2),
                   earlier: () => view.pan(-0.25), later: () => view.pan(0.25),
                   "zoom-selection": () => view.zoomToSelection()};
  for (const [id, action] of Object.entries(actions)) byId(id).addEventListener("click", action);
  for (const name of ["mapped", "resident"]) {
    const button = byId(`show-${name}`);
    button.hidden = !model.knows(`${name}_peak`);
    button.setAttribute("aria-pressed", String(graph.lines[name]));
    button.addEventListener("click", () => {
      graph.lines[name] = !graph.lines[name];
      button.setAttribute("aria-pressed", String(graph.lines[name]));
      graph.dirty();
    });
  }
  byId("span").addEventListener("submit", (event) => {
    event.preventDefault();
    const [from, to] = ["span-from", "span-to"].map((id) => Number(byId(id).value.replace(/s$/, "")) * 1e9);
    if (Number.isFinite(from) && to > from) view.select(from, to);
    else showSpan(model, view);
  });
  listenPlaces(model, view);
}

// Where to go: the peak, windows of raw events, marks.
function listenPlaces(model, view) {
  const near = 20 * model.slice;
  const peak = peakOf(model, 0, model.slices);
  const places = peak.slice < 0 ? [] : [["the peak", peak.time - near, peak.time + near]];
  for (const {why, from, to} of model.windows) places.push([`events: ${why}`, from, to]);
  for (const {name, time} of model.marks.slice(0, 200))
    places.push([`mark: ${textOf(name)}`, time - near, time + near]);
  byId("go").append(...places.map(([name], i) => {
    const option = element("option", "", name);
    option.value = String(i);
    return option;
  }));
  byId("go").addEventListener("change", () => {
    const place = byId("go").value === "" ? undefined : places[Number(byId("go").value)];
    if (place) view.show(place[1], place[2]);
    byId("go").value = "";
  });
}

function showSpan(model, view) {
  const {a, b} = view.chosen;
  const [from, to] = [model.border(a), model.edge(b)];
  byId("span-from").value = seconds(from);
  byId("span-to").value = seconds(to);
  byId("zoom-selection").disabled = !view.selection;
  byId("chosen").textContent = view.selection ? `selected: ${duration(to - from)}`
    : view.whole ? "the whole run"
    : `on screen: ${duration(view.length)}${view.length < model.slice ? `, within ${duration(to - from)}` : ""}`;
  const n = numbersOf(model, a, b);
  const text = `${seconds(from)} to ${seconds(to)} seconds: peak ${bytes(n.peak.bytes)}, ` +
    `allocated ${bytes(n.allocated.bytes)}, live at the end ${bytes(n.live_end.bytes)}`;
  byId("status").textContent = text;
  byId("plot").setAttribute("aria-label", `Live bytes by caller over time. ${text}`);
}

function showLegend(model, view) {
  const {a, b} = view.chosen;
  const {slice} = peakOf(model, a, b);
  const held = (group) => (slice < 0 ? 0 : model.byGroup.peak("bytes", group, slice));
  const entries = view.order.map((group) => [group, model.groups[group].name, held(group)]).sort((x, y) => y[2] - x[2]);
  const rest = slice < 0 ? 0 : model.total.live_peak[slice] - entries.reduce((sum, [, , n]) => sum + n, 0);
  if (rest > 0 || !entries.length) entries.push([-1, entries.length ? "other" : "all", rest]);
  byId("legend").replaceChildren(...entries.map(([group, name, n]) => {
    const entry = element("li");
    const mark = element("span", "swatch");
    mark.style.backgroundColor = `var(--${view.colourOf(group)})`;
    entry.append(mark, element("span", "name", name), element("span", "number", bytes(n)));
    entry.title = name;
    if (group >= 0) {
      entry.addEventListener("pointerenter", () => view.light(group));
      entry.addEventListener("pointerleave", () => view.light(-1));
    }
    return entry;
  }));
}

// The graph for those who cannot see it: at most 40 lines for what is on the screen.
function makeAlternative(model, view) {
  const table = new Table(byId("alternative"), [
    {title: "From", of: (row) => row.from, show: (ns) => `${seconds(ns)} s`},
    column.bytes("Peak", (row) => row.peak.bytes), column.bytes("Live at the end", (row) => row.live_end.bytes),
    column.count("Allocations", (row) => row.allocated.objects),
    column.bytes("Allocated", (row) => row.allocated.bytes), column.count("Frees", (row) => row.freed.objects),
    column.text("Largest caller", (row) => row.largest),
  ], {label: "Live bytes over time", few: 40});
  const show = () => {
    if (!byId("alternative-block").open) return;
    const {a, b} = view.chosen;
    const step = Math.max(1, Math.ceil((b - a) / 40));
    const rows = [];
    for (let i = a; i < b; i += step) {
      const one = numbersOf(model, i, Math.min(b, i + step));
      const first = one.sites.reduce((most, site) => (!most || site.peak_bytes > most.peak_bytes ? site : most), null);
      rows.push({...one, largest: first && first.peak_bytes > 0 ? first.function : ""});
    }
    table.show(rows);
  };
  byId("alternative-block").addEventListener("toggle", show);
  view.listen(() => {}, show);
}

function listenTabs(shown) {
  const tabs = ["performance", "events"];
  const choose = (name, focus) => {
    for (const one of tabs) {
      const tab = byId(`tab-${one}`);
      tab.setAttribute("aria-selected", String(one === name));
      tab.tabIndex = one === name ? 0 : -1;
      byId(one).hidden = one !== name;
      if (focus && one === name) tab.focus();
    }
    Canvas.dirtyAll();
    shown(name);
  };
  tabs.forEach((name, i) => {
    byId(`tab-${name}`).addEventListener("click", () => choose(name));
    byId(`tab-${name}`).addEventListener("keydown", (event) => {
      const step = {ArrowLeft: -1, ArrowRight: 1}[event.key];
      if (step) choose(tabs[(i + step + tabs.length) % tabs.length], true);
    });
  });
  return choose;
}

// Light or dark, paper, another size: all is drawn again.
function listenLooks(view) {
  const again = () => {
    readColours();
    Canvas.dirtyAll();
  };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
  const print = (on) => () => {
    document.documentElement.classList.toggle("print", on);
    Table.printing = on;
    for (const table of Table.every) table.fill();
    readColours();
    view.changed();
    for (const canvas of Canvas.all) canvas.paint();
  };
  window.addEventListener("beforeprint", print(true));
  window.addEventListener("afterprint", print(false));
  new ResizeObserver(() => Canvas.dirtyAll()).observe(byId("plots"));
  new ResizeObserver(() => Canvas.dirtyAll()).observe(byId("icicle-box"));
}

// What tests see.
function expose(model, view, parts) {
  window.pawprint = {
    ready: true, model,
    select: (from, to) => {
      view.select(from, to);
      view.settle();
    },
    show: (from, to) => {
      view.show(from, to);
      view.settle();
    },
    all: () => {
      view.all();
      view.settle();
    },
    view: () => ({from: view.from, to: view.to, selection: view.selection, moment: view.moment}),
    x: (t) => parts.graph.scale(byId("plot").clientWidth).x(t),
    numbers: () => numbersOf(model, view.chosen.a, view.chosen.b),
    search: (text, regular) => parts.events.search(text, regular),
    events: (first, n) => parts.events.found.filter((i) => i >= 0).slice(first, first + n).map((i) => ({
      time: model.raw.time[i], name: model.raw.types[model.raw.type[i]].name, text: parts.events.parameters(i),
      caller: parts.events.caller(i), thread: parts.events.threadText(i), says: parts.events.describe(i)})),
    frames: () => ({frames: Canvas.frames, spent: Canvas.spent}),
    check,
    tab: parts.choose,
  };
}

function begin() {
  readColours();
  const model = new Model(JSON.parse(byId("data").textContent));
  const view = new View(model);
  showHeader(model);
  const graph = new Graph(model, view);
  new Lanes(model, view, graph);
  const collections = new Collections(model, view, graph);
  new Pointer(model, view, graph, collections);
  new Performance(model, view, collections);
  new Icicle(model, view);
  const events = new Events(model, view);
  const choose = listenTabs((name) => name === "events" && events.schedule());
  listenBar(model, view, graph);
  makeAlternative(model, view);
  const settled = () => {
    showSpan(model, view);
    showLegend(model, view);
  };
  view.listen(() => {}, settled);
  byId("empty").hidden = model.slices > 0 && Number(model.data.events) > 0;
  listenLooks(view);
  choose("performance");
  view.settle();
  expose(model, view, {events, choose, graph});
}

// What is wrong with this data, as a sentence; "" for nothing.
function check(text) {
  try {
    new Model(JSON.parse(text));
    return "";
  } catch (error) {
    return sentenceOf(error);
  }
}

const sentenceOf = (error) =>
  `This report is damaged: ${error instanceof Damaged ? error.message : "its data cannot be read"}.`;

function fail(error) {
  byId("page").hidden = true;
  byId("damaged").hidden = false;
  byId("damaged-says").textContent = sentenceOf(error);
  window.pawprint = {ready: false, damaged: byId("damaged-says").textContent, reason: String(error)};
}

try {
  begin();
} catch (error) {
  fail(error);
}
