// graph.js -- the graph: the whole run in a strip; live bytes by site, mapped, resident; the rate; the axis of time
//
// SPDX-License-Identifier: BSD-2-Clause
//
// Values come by slice: what lives at its borders and at the moment of its peak.  Both are points of the curve, joined
// by straight lines; so a peak is never thinned away.  One pass over the slices on the screen for each frame.

const GUTTER = {wide: 128, narrow: 52, right: 16, change: 640};
const MARKS_HEIGHT = 18;
const MANY_POINTS = 500; // of a curve: more of them, and lines between bands would hide the bands

class Graph {
  constructor(model, view) {
    Object.assign(this, {model, view, bands: [], lines: {mapped: true, resident: true}});
    this.overview = new Canvas(byId("overview"), (c, w, h) => this.drawOverview(c, w, h));
    this.plot = new Canvas(byId("plot"), (c, w, h) => this.drawPlot(c, w, h));
    this.rate = new Canvas(byId("rate"), (c, w, h) => this.drawRate(c, w, h));
    this.axis = new Canvas(byId("axis"), (c, w, h) => this.drawAxis(c, w, h));
    this.sortedMarks = [...model.marks].sort((a, b) => a.time - b.time);
    this.updateBands();
    const most = Math.max(0, ...(model.total.live_peak || []));
    for (const name of ["mapped", "resident"]) {
      const series = model.total[`${name}_peak`];
      this.lines[name] = Boolean(series) && Math.max(...series) < 4 * most;
    }
    view.listen(() => this.dirty(), () => {
      this.updateBands();
      this.overview.dirty();
    });
  }

  dirty() {
    for (const canvas of [this.overview, this.plot, this.rate, this.axis]) canvas.dirty();
  }

  // Borders and peaks of each group that has a colour, in the order in which they are stacked.
  updateBands() {
    const {model, view} = this;
    const n = model.slices;
    this.bands = view.order.map((group) => {
      const band = {group, border: new Float64Array(n + 1), peak: new Float64Array(n)};
      for (let i = 0; i <= n; ++i) band.border[i] = model.byGroup.live("bytes", group, i);
      for (let i = 0; i < n; ++i) band.peak[i] = model.byGroup.peak("bytes", group, i);
      return band;
    });
  }

  static gutter(width) {
    return width < GUTTER.change ? GUTTER.narrow : GUTTER.wide;
  }

  // scale -- time to pixels and back, in a canvas of a width
  scale(width, from = this.view.from, to = this.view.to) {
    const left = Graph.gutter(width);
    const room = Math.max(1, width - left - GUTTER.right);
    return {left, right: left + room, x: (t) => left + ((t - from) / (to - from)) * room,
            t: (x) => from + ((x - left) / room) * (to - from)};
  }

  // points -- of the slices [a, b): x, and for each band the height of its upper edge, the last one that of all
  points(scale, a, b) {
    const {model, bands} = this;
    const {live_end: end, live_peak: peak, peak_at: at} = model.total;
    const xs = [];
    const edges = Array.from({length: bands.length + 1}, () => []);
    const add = (t, value, all) => {
      xs.push(scale.x(t));
      let sum = 0;
      bands.forEach((band, i) => edges[i].push((sum += value(band))));
      edges[bands.length].push(Math.max(sum, all));
    };
    for (let i = a; i < b; ++i) {
      add(model.border(i), (band) => band.border[i], i ? end[i - 1] : model.liveStart.bytes);
      add(model.border(i) + (at ? at[i] : model.slice / 2), (band) => band.peak[i], peak[i]);
    }
    if (b > a) add(model.edge(b), (band) => band.border[b], end[b - 1]);
    return {xs, edges};
  }

  // The slices that are on the screen, with one more on either side.
  visible() {
    const {a, b} = this.model.snap(this.view.from, this.view.to);
    return {a, b};
  }

  drawOverview(context, width, height) {
    const {model, view} = this;
    const scale = this.scale(width, model.start, model.last);
    const bottom = height - 5;
    const {live_peak: peak} = model.total;
    context.fillStyle = colours.panel;
    context.fillRect(scale.left, 0, scale.right - scale.left, height);
    if (peak && model.slices) {
      const most = Math.max(1, ...peak);
      context.fillStyle = colours.soft;
      context.globalAlpha = 0.45;
      context.beginPath();
      context.moveTo(scale.left, bottom);
      for (let i = 0; i < model.slices; ++i) {
        const y = bottom - (peak[i] / most) * (bottom - 3);
        context.lineTo(scale.x(model.border(i)), y);
        context.lineTo(scale.x(model.edge(i + 1)), y);
      }
      context.lineTo(scale.right, bottom);
      context.fill();
      context.globalAlpha = 1;
    }
    context.fillStyle = colours.accent;
    for (const window of model.windows) {
      const x = scale.x(window.from);
      context.fillRect(x, height - 3, Math.max(2, scale.x(window.to) - x), 3);
    }
    this.drawFrame(context, scale, height);
    context.fillStyle = colours.soft;
    context.textAlign = "right";
    context.fillText("all", scale.left - 8, height / 2);
  }

  // What of the whole is on the screen: the rest is veiled.
  drawFrame(context, scale, height) {
    const {view} = this;
    const [x0, x1] = [scale.x(view.from), Math.max(scale.x(view.to), scale.x(view.from) + 2)];
    context.fillStyle = colours.back;
    context.globalAlpha = 0.72;
    context.fillRect(scale.left, 0, x0 - scale.left, height);
    context.fillRect(x1, 0, scale.right - x1, height);
    context.globalAlpha = 1;
    context.strokeStyle = colours.accent;
    context.lineWidth = 1;
    context.strokeRect(Math.round(x0) + 0.5, 0.5, Math.max(1, Math.round(x1 - x0) - 1), height - 1);
  }

  drawPlot(context, width, height) {
    const {model} = this;
    const scale = this.scale(width);
    const top = MARKS_HEIGHT;
    const {a, b} = this.visible();
    const most = this.most(a, b);
    const y = (value) => height - 1 - (value / most) * (height - 1 - top);
    this.y = {most, top, height};
    this.drawGrid(context, scale, most, y);
    context.save();
    context.beginPath();
    context.rect(scale.left, 0, scale.right - scale.left, height);
    context.clip();
    if (model.total.live_end && b > a) this.drawBands(context, this.points(scale, a, b), y);
    this.drawLine(context, scale, a, b, y, "mapped");
    this.drawLine(context, scale, a, b, y, "resident");
    this.drawMarks(context, scale, height, true);
    if (model.total.live_peak && b > a) this.drawPeak(context, scale, y);
    context.restore();
  }

  // The largest value that the plot shows, with some room above.
  most(a, b) {
    const {total} = this.model;
    let most = 0;
    for (const [series, shown] of [[total.live_peak, true], [total.mapped_peak, this.lines.mapped],
                                   [total.resident_peak, this.lines.resident]])
      if (series && shown) for (let i = a; i < b; ++i) most = Math.max(most, series[i]);
    return Math.max(16, most * 1.08);
  }

  drawGrid(context, scale, most, y) {
    context.textAlign = "right";
    for (const value of binaryTicks(most, 7).values) {
      rule(context, scale.left, y(value), scale.right, y(value), colours.line);
      context.fillStyle = colours.soft;
      if (value) context.fillText(bytesShort(value), scale.left - 8, y(value));
    }
  }

  drawBands(context, {xs, edges}, y) {
    const {view, bands} = this;
    for (let i = edges.length - 1; i >= 0; --i) {
      const group = i < bands.length ? bands[i].group : -1;
      const name = view.colourOf(group);
      context.fillStyle = name === "other" ? colours.other : colours.site[Number(name.slice(5))];
      context.beginPath();
      context.moveTo(xs[0], y(0));
      const edge = edges[i];
      for (let k = 0; k < xs.length; ++k) context.lineTo(xs[k], y(edge[k]));
      context.lineTo(xs[xs.length - 1], y(0));
      context.fill();
      // What is below must not shine through.
      if (view.lit >= 0 && group !== view.lit) {
        context.fillStyle = colours.panel;
        context.globalAlpha = 0.6;
        context.fill();
        context.globalAlpha = 1;
      }
      if (xs.length > MANY_POINTS) continue;
      context.strokeStyle = colours.panel;
      context.lineWidth = 0.75;
      context.stroke();
    }
  }

  drawLine(context, scale, a, b, y, name) {
    const series = this.model.total[`${name}_peak`];
    if (!series || !this.lines[name]) return;
    context.strokeStyle = colours[name];
    context.lineWidth = 1.5;
    context.setLineDash(name === "mapped" ? [] : [5, 3]);
    context.beginPath();
    let down = false;
    for (let i = a; i < b; ++i) {
      if (series[i] < 0) {
        down = false;
        continue;
      }
      const [x0, x1] = [scale.x(this.model.border(i)), scale.x(this.model.edge(i + 1))];
      if (!down) context.moveTo(x0, y(series[i]));
      context.lineTo(x0, y(series[i]));
      context.lineTo(x1, y(series[i]));
      down = true;
    }
    context.stroke();
    context.setLineDash([]);
  }

  // Marks: those that have room for their names have a line, the others a short one; one for each column.
  drawMarks(context, scale, height, named) {
    let column = -1;
    let free = -Infinity;
    context.textAlign = "left";
    for (const mark of this.sortedMarks) {
      const x = scale.x(mark.time);
      if (x < scale.left - 1 || x > scale.right || Math.round(x) === column) continue;
      column = Math.round(x);
      const text = x < free ? "" : fitted(context, textOf(mark.name), Math.min(160, scale.right - x - 6));
      context.globalAlpha = text ? 0.6 : 0.4;
      if (text || named) {
        context.setLineDash([2, 2]);
        rule(context, x, 0, x, text ? height : 3, colours.accent);
        context.setLineDash([]);
      }
      context.globalAlpha = 1;
      if (!text) continue;
      context.fillStyle = colours.accent;
      if (named) context.fillText(text, x + 4, MARKS_HEIGHT / 2);
      free = x + context.measureText(text).width + 12;
    }
  }

  drawPeak(context, scale, y) {
    const {a, b} = this.view.chosen;
    const peak = peakOf(this.model, a, b);
    if (peak.slice < 0 || peak.bytes <= 0) return;
    const [x, top] = [scale.x(peak.time), y(peak.bytes)];
    context.beginPath();
    context.arc(x, top, 3.5, 0, 7);
    context.fillStyle = colours.panel;
    context.fill();
    context.strokeStyle = colours.ink;
    context.lineWidth = 1.5;
    context.stroke();
    const text = bytes(peak.bytes);
    const room = context.measureText(text).width;
    const right = x + room + 10 < scale.right;
    context.textAlign = right ? "left" : "right";
    context.lineWidth = 3;
    context.strokeStyle = colours.panel;
    context.lineJoin = "round";
    context.strokeText(text, right ? x + 8 : x - 8, top);
    context.fillStyle = colours.ink;
    context.fillText(text, right ? x + 8 : x - 8, top);
  }

  drawRate(context, width, height) {
    const {model} = this;
    const scale = this.scale(width);
    const {a, b} = this.visible();
    const {allocs, frees} = model.total;
    const middle = Math.round(height / 2);
    let most = 1;
    if (allocs && frees) for (let i = a; i < b; ++i) most = Math.max(most, allocs[i], frees[i]);
    context.textAlign = "right";
    context.fillStyle = colours.soft;
    const wide = scale.left === GUTTER.wide;
    const rate = `${wide ? "allocations  " : ""}${short((most / model.slice) * 1e9)}/s`;
    if (allocs) context.fillText(rate, scale.left - 8, 9);
    if (frees && wide) context.fillText("frees", scale.left - 8, height - 9);
    context.save();
    context.beginPath();
    context.rect(scale.left, 0, scale.right - scale.left, height);
    context.clip();
    if (allocs) this.drawSteps(context, scale, a, b, allocs, middle, -(middle - 3) / most, colours.rise);
    if (frees) this.drawSteps(context, scale, a, b, frees, middle, (height - middle - 3) / most, colours.fall);
    rule(context, scale.left, middle, scale.right, middle, colours.line);
    this.drawMarks(context, scale, height, false);
    context.restore();
  }

  // A column of the screen shows the largest of its slices.
  drawSteps(context, scale, a, b, series, base, factor, colour) {
    context.fillStyle = colour;
    context.beginPath();
    let column = -Infinity;
    let most = 0;
    let end = 0;
    const flush = () => {
      if (most > 0) context.rect(column, base, Math.max(1, end - column), most * factor);
    };
    for (let i = a; i < b; ++i) {
      const x = Math.floor(scale.x(this.model.border(i)));
      if (x !== column) {
        flush();
        [column, most] = [x, 0];
      }
      most = Math.max(most, series[i]);
      end = Math.floor(scale.x(this.model.edge(i + 1)));
    }
    flush();
    context.fill();
  }

  drawAxis(context, width) {
    const {view, model} = this;
    const scale = this.scale(width);
    rule(context, scale.left, 0, scale.right, 0, colours.line);
    const {step, values} = ticks(view.from, view.to, (scale.right - scale.left) / 100);
    context.fillStyle = colours.soft;
    context.textAlign = "center";
    for (const value of values) {
      const x = scale.x(value);
      rule(context, x, 0, x, 4, colours.faint);
      const text = moment(value, step, view.to);
      const half = context.measureText(text).width / 2;
      if (x + half < width && x - half > scale.left - 24) context.fillText(text, x, 13);
    }
    context.fillStyle = colours.accent;
    for (const window of model.windows) {
      const [x0, x1] = [Math.max(scale.left, scale.x(window.from)), Math.min(scale.right, scale.x(window.to))];
      if (x1 > scale.left && x0 < scale.right) context.fillRect(x0, 0, Math.max(2, x1 - x0), 2);
    }
  }

  // The group whose band is at a height of the plot, at a moment; -1 for others, null for none.
  groupAt(t, pixel) {
    const {model, bands} = this;
    const {a} = model.snap(t, t);
    if (!model.slices || !this.y) return null;
    const value = ((this.y.height - 1 - pixel) / (this.y.height - 1 - this.y.top)) * this.y.most;
    if (value < 0 || value > model.total.live_peak[a]) return null;
    let sum = 0;
    for (const band of bands) if ((sum += band.peak[a]) >= value) return band.group;
    return -1;
  }
}
