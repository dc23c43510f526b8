// lanes.js -- a lane for each thread: how many events, and whether it ran or waited; or, close up, the control graph
//
// SPDX-License-Identifier: BSD-2-Clause
//
// Far away each lane is two strips of an image with a pixel for each column: density of events above, shares of time
// below.  Close up, where the report has the events, horizontal lines are time and vertical lines are control that
// passes between the program, the allocator, the collector and the kernel, as in the graphs of the Linux Trace Toolkit.
// The canvas is as high as what is seen of the lanes, and stays in place while they scroll.

const LEVELS = ["program", "allocator", "collector", "kernel"];
const LANE = {height: 22, control: 58, state: 8, most: 242};

// levelOf -- who has control when an event of this type is emitted
function levelOf(type) {
  if (type.kind === "Object" || type.kind === "Pool") return 1;
  if (type.kind === "Trace" || type.kind === "Seg" || type.kind === "Ref") return 2;
  if (type.kind === "Sync" || type.kind === "System" || type.name.startsWith("Memory")) return 3;
  return type.kind === "Arena" ? 1 : 0;
}

// Types after which control stays where it is until the thread's next event.
const STAYS = /(Begin|Request|Reach|Block|Start)(Site|Stack)?$/;

class Lanes {
  constructor(model, view, graph) {
    Object.assign(this, {model, view, graph});
    this.canvas = new Canvas(byId("lanes"), (c, w, h) => this.draw(c, w, h));
    this.image = document.createElement("canvas");
    this.readEvents();
    this.control = false;
    this.order = [...model.allThreads.keys()];
    this.order.sort((x, y) => model.allThreads[x].collector - model.allThreads[y].collector);
    this.busy = this.order.filter((i) => i < model.threads.length && this.sumOf("events", i, 0, model.slices) > 0);
    view.listen(() => this.resize(), null);
    byId("lanes-box").addEventListener("scroll", () => this.canvas.dirty());
    this.resize();
  }

  // For each thread its raw events, the level of each type, and whether control stays there.
  readEvents() {
    const {raw, allThreads} = this.model;
    this.level = raw.types.map(levelOf);
    this.stays = raw.types.map((type) => type.kind !== "System" && STAYS.test(type.name));
    const sizes = new Uint32Array(allThreads.length);
    for (let i = 0; i < raw.count; ++i) ++sizes[raw.thread[i]];
    this.events = Array.from(sizes, (size) => new Uint32Array(size));
    sizes.fill(0);
    for (let i = 0; i < raw.count; ++i) this.events[raw.thread[i]][sizes[raw.thread[i]]++] = i;
  }

  // Is most of the screen within a window of raw events, and not too much for single lines to be seen?
  get close() {
    const {model, view} = this;
    let covered = 0;
    for (const {from, to} of model.windows)
      covered += Math.max(0, Math.min(view.to, to) - Math.max(view.from, from));
    return covered > 0.5 * view.length && (!view.whole || model.raw.count < 5000);
  }

  // The first of a thread's events that is not before a time.
  firstAt(thread, time) {
    const list = this.events[thread];
    const {raw} = this.model;
    let [low, high] = [0, list.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (raw.time[list[middle]] < time) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  // The lanes that are shown: all rows, or close up the threads that have events on the screen; eventrec's own last.
  lanes() {
    const {model, view} = this;
    if (!this.control) return this.busy;
    return this.order.filter((i) => {
      const first = this.events[i][this.firstAt(i, view.from)];
      return first !== undefined && model.raw.time[first] <= view.to;
    });
  }

  resize() {
    this.control = this.close;
    this.shown = this.lanes();
    if (this.control && !this.shown.length) {
      this.control = false;
      this.shown = this.lanes();
    }
    const height = this.shown.length * (this.control ? LANE.control : LANE.height) + 2;
    const seen = Table.printing ? height : Math.min(height, LANE.most);
    setHeight(byId("lanes-space"), height);
    setHeight(this.canvas.element, seen);
    byId("levels").hidden = !this.control;
    byId("states").hidden = this.control;
    this.canvas.dirty();
  }

  draw(context, width, height) {
    const scale = this.graph.scale(width);
    const scrolled = Table.printing ? 0 : byId("lanes-box").scrollTop;
    context.save();
    context.translate(0, -scrolled);
    this.states = ["run", "wait", "lock", "block"].map((name) => rgbOf(colours[name]));
    if (this.control) this.drawControls(context, scale);
    else this.drawStates(context, scale);
    context.restore();
    context.save();
    context.beginPath();
    context.rect(scale.left, 0, scale.right - scale.left, height);
    context.clip();
    this.graph.drawMarks(context, scale, height, false);
    context.restore();
  }

  nameOf(i) {
    const {other, title, tid} = this.model.allThreads[i];
    return other ? title : `${title} ${tid}`;
  }

  drawName(context, scale, i, y, narrow) {
    context.fillStyle = colours.ink;
    context.textAlign = narrow ? "left" : "right";
    if (!narrow) {
      context.fillText(fitted(context, this.nameOf(i), scale.left - 12), scale.left - 8, y);
      return;
    }
    context.fillText(fitted(context, this.model.allThreads[i].title, scale.left - 4), 0, y);
  }

  // The rows [first, last) that can be seen in the box that scrolls; on paper all.
  seen(height) {
    const box = byId("lanes-box");
    if (Table.printing) return [0, this.shown.length];
    return [Math.max(0, Math.floor((box.scrollTop - 2) / height)),
            Math.min(this.shown.length, Math.ceil((box.scrollTop + box.clientHeight) / height))];
  }

  // The states of all lanes as one image: for each lane a row of densities, and rows of what the time went to.
  drawStates(context, scale) {
    const {model} = this;
    const columns = Math.max(1, Math.round(scale.right - scale.left));
    const [first, last] = this.seen(LANE.height);
    if (last <= first || !model.slices) return;
    const rows = (last - first) * (1 + LANE.state);
    if (this.image.width !== columns) this.image.width = columns;
    if (this.image.height !== rows) this.image.height = rows;
    const target = this.image.getContext("2d");
    const image = target.createImageData(columns, rows);
    const borders = this.bordersOf(columns);
    this.shown.slice(first, last).forEach((lane, i) => this.fillLane(image, lane, i * (1 + LANE.state), borders));
    target.putImageData(image, 0, 0);
    context.imageSmoothingEnabled = false;
    const narrow = scale.left === GUTTER.narrow;
    const density = LANE.height - LANE.state - 3;
    for (let lane = first; lane < last; ++lane) {
      const top = lane * LANE.height + 2;
      const row = (lane - first) * (1 + LANE.state);
      context.drawImage(this.image, 0, row, columns, 1, scale.left, top, columns, density);
      context.drawImage(this.image, 0, row + 1, columns, LANE.state, scale.left, top + density, columns, LANE.state);
      this.drawName(context, scale, this.shown[lane], top + LANE.height / 2 - 1, narrow);
    }
  }

  // For each column the first slice that begins in it, or the one that it lies in.
  bordersOf(columns) {
    const {model, view} = this;
    const borders = new Int32Array(columns + 1);
    for (let x = 0; x <= columns; ++x) {
      const t = view.from + (view.length * x) / columns;
      borders[x] = Math.min(model.slices, Math.max(0, Math.floor((t - model.start) / model.slice)));
    }
    return borders;
  }

  // The most events that a thread has in a slice.
  get most() {
    const {byThread, threads, slices} = this.model;
    if (this.mostEvents) return this.mostEvents;
    let most = 1;
    for (let lane = 0; lane < threads.length; ++lane)
      for (let i = 0; i < slices; ++i) most = Math.max(most, byThread.in("events", lane, i, i + 1));
    return (this.mostEvents = most);
  }

  // The pixels of a lane from a row of the image on.  Columns within one slice are alike.
  fillLane(image, lane, base, borders) {
    const {slices} = this.model;
    const ink = rgbOf(colours.accent);
    const scale = 0.75 / Math.log1p(this.most);
    for (let x = 0, done = -1; x < image.width; ++x) {
      const a = Math.min(borders[x], slices - 1);
      const b = Math.max(a + 1, borders[x + 1]);
      if (b === a + 1 && a === done) {
        for (let row = base; row <= base + LANE.state; ++row) copyLeft(image, row * image.width + x);
        continue;
      }
      done = b === a + 1 ? a : -1;
      const events = this.sumOf("events", lane, a, b) / (b - a);
      if (events > 0) put(image, base * image.width + x, ink, 0.25 + scale * Math.log1p(events));
      this.fillStates(image, lane, base, x, a, b);
    }
  }

  sumOf(name, lane, a, b) {
    return this.model.byThread.in(name, lane, a, b);
  }

  // What the time of a column went to, from the bottom up: ran, waited for a processor, for a lock, was blocked.
  fillStates(image, lane, base, x, a, b) {
    const sum_of = (name) => this.sumOf(name, lane, a, b);
    const lock = sum_of("lock_ns");
    const times = [sum_of("user_ns") + sum_of("system_ns"), sum_of("waiting_ns"), lock,
                   Math.max(0, sum_of("blocked_ns") - lock)];
    const whole = times[0] + times[1] + times[2] + times[3];
    if (!(whole > 0)) return;
    let sum = 0;
    for (let row = 0, state = 0; row < LANE.state; ++row) {
      while (state < 3 && sum + times[state] < ((row + 0.5) / LANE.state) * whole) sum += times[state++];
      put(image, (base + LANE.state - row) * image.width + x, this.states[state], 1);
    }
  }

  drawControls(context, scale) {
    const narrow = scale.left === GUTTER.narrow;
    const [first, last] = this.seen(LANE.control);
    this.shown.slice(first, last).forEach((thread, row) => {
      const top = (first + row) * LANE.control + 6;
      const y = (level) => top + (LANE.control - 14) * (1 - level / 3);
      LEVELS.forEach((_, level) => rule(context, scale.left, y(level), scale.right, y(level), colours.line));
      if (narrow) this.drawName(context, scale, thread, y(1.5), true);
      else this.drawLevels(context, scale, thread, y);
      this.drawControl(context, scale, thread, y);
    });
  }

  // The gutter of a control graph: the thread, and its levels.
  drawLevels(context, scale, thread, y) {
    context.textAlign = "right";
    context.fillStyle = colours.soft;
    context.font = colours.smallFont;
    LEVELS.forEach((name, level) => context.fillText(name, scale.left - 8, y(level)));
    context.font = colours.font;
    context.textAlign = "left";
    const {other, title, tid} = this.model.allThreads[thread];
    const lines = [title, other ? "" : String(tid)];
    [colours.ink, colours.soft].forEach((colour, i) => {
      context.fillStyle = colour;
      context.fillText(fitted(context, lines[i], scale.left - 58), 0, y(1.5) + 14 * i - 7);
    });
  }

  // One thread: for each column the levels between which control passed, and along it the level where it stayed.
  drawControl(context, scale, thread, y) {
    const {raw} = this.model;
    const list = this.events[thread];
    const first = this.firstAt(thread, this.view.from);
    const before = first ? raw.type[list[first - 1]] : -1;
    let level = before >= 0 && this.stays[before] ? this.level[before] : 0;
    let from = scale.left;
    const lines = LEVELS.map(() => []);
    const passed = [];
    let column = {x: -1, low: 4, high: -1};
    for (let k = first; k < list.length; ++k) {
      const i = list[k];
      const x = scale.x(raw.time[i]);
      if (x > scale.right) break;
      const at = this.level[raw.type[i]];
      const after = this.stays[raw.type[i]] ? at : 0;
      if (Math.round(x) !== column.x) {
        if (column.high > column.low) passed.push(column);
        column = {x: Math.round(x), low: 4, high: -1};
      }
      column.low = Math.min(column.low, level, at, after);
      column.high = Math.max(column.high, level, at, after);
      if (after !== level) {
        lines[level].push(from, x);
        [from, level] = [x, after];
      }
    }
    if (column.high > column.low) passed.push(column);
    lines[level].push(from, scale.right);
    this.strokeControl(context, lines, passed, y);
  }

  strokeControl(context, lines, passed, y) {
    LEVELS.forEach((name, level) => {
      context.strokeStyle = colours[name];
      context.lineWidth = 2;
      context.beginPath();
      for (let k = 0; k < lines[level].length; k += 2) {
        context.moveTo(lines[level][k], y(level) + 0.5);
        context.lineTo(lines[level][k + 1], y(level) + 0.5);
      }
      context.stroke();
      context.lineWidth = 1;
      context.beginPath();
      for (const {x, low, high} of passed)
        if (high === level) {
          context.moveTo(x + 0.5, y(low));
          context.lineTo(x + 0.5, y(high) - 1);
        }
      context.stroke();
    });
  }
}

function setHeight(element, height) {
  if (element.style.height !== `${height}px`) element.style.height = `${height}px`;
}

function put(image, pixel, [red, green, blue], alpha) {
  const i = pixel * 4;
  image.data[i] = red;
  image.data[i + 1] = green;
  image.data[i + 2] = blue;
  image.data[i + 3] = 255 * alpha;
}

function copyLeft(image, pixel) {
  image.data.copyWithin(pixel * 4, pixel * 4 - 4, pixel * 4);
}
