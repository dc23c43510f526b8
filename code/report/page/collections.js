// collections.js -- a lane of collections: each from its beginning to its end, with its pauses; the numbers of one
//
// SPDX-License-Identifier: BSD-2-Clause
//
// A process has a row.  A collection is a bar; in it stops of all threads are as high as the row, and steps, which one
// thread does while others run, half as high.

const COLLECTIONS = {row: 16, rows: 8, near: 5, phases: 6};

class Collections {
  constructor(model, view, graph) {
    Object.assign(this, {model, view, graph, chosen: -1});
    const {collections} = model;
    this.processes = [...new Set(collections.map((one) => one.process))].slice(0, COLLECTIONS.rows);
    for (const id of ["collections", "collections-key", "collection-says", "collections-block"])
      byId(id).hidden = !collections.length;
    setHeight(byId("collections"), this.processes.length * COLLECTIONS.row + 2);
    const all = Number(model.data.collections_all) || 0;
    byId("collections-some").textContent = all > collections.length
      ? `Of ${count(all)} collections these are the ${count(collections.length)} with the longest pauses.` : "";
    this.canvas = new Canvas(byId("collections"), (c, w, h) => this.draw(c, w, h));
    view.listen(() => this.canvas.dirty(), null);
  }

  // The row of a collection; those of more processes than there are rows are in the last one.
  rowOf(one) {
    const row = this.processes.indexOf(one.process);
    return row < 0 ? COLLECTIONS.rows - 1 : row;
  }

  endOf(one) {
    return one.end === null ? this.model.last : one.end;
  }

  draw(context, width) {
    const {model, graph} = this;
    const scale = graph.scale(width);
    const bar = (from, to, y, height) => {
      const x = Math.max(scale.left, scale.x(from));
      const end = Math.min(scale.right, Math.max(scale.x(to), scale.x(from) + 1));
      if (end > x) context.fillRect(x, y, end - x, height);
    };
    const height = COLLECTIONS.row - 4;
    for (const [i, one] of model.collections.entries()) {
      const y = this.rowOf(one) * COLLECTIONS.row + 2;
      context.fillStyle = colours.collector;
      context.globalAlpha = 0.35;
      bar(one.begin, this.endOf(one), y, height);
      context.globalAlpha = 1;
      for (const {step, begin, length} of one.phases) {
        context.fillStyle = step ? colours.collector : colours.lock;
        bar(begin, begin + length, step ? y + height / 2 : y, step ? height / 2 : height);
      }
      if (i !== this.chosen) continue;
      context.fillStyle = colours.ink;
      bar(one.begin, this.endOf(one), y - 2, 2);
      bar(one.begin, this.endOf(one), y + height, 2);
    }
    this.drawNames(context, scale);
  }

  drawNames(context, scale) {
    const one = scale.left === GUTTER.narrow ? "pauses" : "collections";
    context.fillStyle = colours.ink;
    context.textAlign = "right";
    this.processes.forEach((process, row) => {
      const name = this.processes.length > 1 ? this.nameOf(process) : one;
      context.fillText(fitted(context, name, scale.left - 12), scale.left - 8, (row + 0.5) * COLLECTIONS.row + 1);
    });
  }

  nameOf(process) {
    const {name, pid} = this.model.processes[process] || {};
    return `${baseName(textOf(name)) || "process"} ${pid === undefined ? "" : pid}`.trim();
  }

  // Choose what is at a time and a height of the lane: of several the shortest; else the nearest, if it is near.
  pick(t, y) {
    const {model, graph} = this;
    const scale = graph.scale(byId("collections").clientWidth);
    const row = Math.min(this.processes.length - 1, Math.max(0, Math.floor(y / COLLECTIONS.row)));
    let best = -1;
    let least = [Infinity, Infinity];
    for (const [i, one] of model.collections.entries()) {
      const end = this.endOf(one);
      const away = Math.max(0, scale.x(one.begin) - scale.x(t), scale.x(t) - scale.x(end));
      const length = end - one.begin;
      if (this.rowOf(one) !== row || away > COLLECTIONS.near) continue;
      if (away < least[0] || (away === least[0] && length < least[1])) [best, least] = [i, [away, length]];
    }
    if (best >= 0) this.choose(best);
  }

  choose(i) {
    this.chosen = i;
    byId("collection-says").textContent = this.says(this.model.collections[i]);
    this.canvas.dirty();
  }

  // The one before or behind the chosen one; it comes onto the screen.
  step(direction) {
    const {view, model} = this;
    const {length} = model.collections;
    if (!length) return;
    const first = model.collections.findIndex((one) => one.begin >= view.from);
    const from = this.chosen >= 0 ? this.chosen + direction : first < 0 ? length - 1 : first;
    const i = Math.min(length - 1, Math.max(0, from));
    this.see(i);
  }

  see(i) {
    const {view, model} = this;
    const one = model.collections[i];
    const end = this.endOf(one);
    const from = (one.begin + end - view.length) / 2;
    if (one.begin < view.from || end > view.to) view.show(from, from + view.length);
    this.choose(i);
  }

  // All that is known of a collection, exact.
  says(one) {
    const phases = one.phases.slice(0, COLLECTIONS.phases)
      .map(({step, length}) => `${step ? "step" : "stop"} ${duration(length)}`);
    if (one.pauses > phases.length) phases.push("\u2026");
    const lasted = one.end === null ? "its end was not recorded" : `it lasted ${duration(one.end - one.begin)}`;
    const pool = one.label ? `"${one.label}", ${one.pool}` : one.pool;
    return `Collection ${one.number} of pool ${pool} (${this.nameOf(one.process)}), ` +
      `${one.why ? `${one.why}, ` : ""}at ${seconds(one.begin)} s, ${lasted}: ${things(one.pauses, "pause")}, ` +
      `${count(one.paused)} ns in all, the longest ${count(one.longest)} ns` +
      `${phases.length ? ` (${phases.join(", ")})` : ""}. There were ${count(one.condemned)} bytes, of which ` +
      `${count(one.reclaimed)} were taken back${share(one.reclaimed, one.condemned) &&
        ` (${share(one.reclaimed, one.condemned)})`}.`;
  }
}
