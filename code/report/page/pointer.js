// pointer.js -- mouse, touch and keys on the graph: zoom, pan, select a span, a moment; the crosshair and what it says
//
// SPDX-License-Identifier: BSD-2-Clause
//
// The crosshair and the selection are drawn on a canvas of their own, above the others: a pointer that moves redraws
// nothing else.

const CLICK = 4; // pixels that a pointer may move in a click

class Pointer {
  constructor(model, view, graph, collections) {
    Object.assign(this, {model, view, graph, collections, hover: null, drag: null});
    this.plots = byId("plots");
    this.over = new Canvas(byId("over"), (c, w, h) => this.draw(c, w, h));
    view.listen(() => this.over.dirty(), () => this.readout(this.hover && this.scale.t(this.hover.x)));
    this.listenPointer();
    this.listenOverview();
    this.plots.addEventListener("keydown", (event) => this.key(event));
    this.readout(null);
  }

  listenPointer() {
    const {plots} = this;
    plots.addEventListener("pointermove", (event) => this.move(event));
    plots.addEventListener("pointerdown", (event) => this.down(event));
    plots.addEventListener("pointerup", (event) => this.up(event));
    plots.addEventListener("pointercancel", () => this.cancel());
    plots.addEventListener("pointerleave", () => {
      if (this.drag) return;
      this.hover = null;
      this.view.light(-1);
      this.readout(null);
      this.over.dirty();
    });
    plots.addEventListener("wheel", (event) => this.wheel(event), {passive: false});
    plots.addEventListener("dblclick", () => this.view.zoomToSelection());
  }

  // On the strip of the whole run: what is there comes to the middle.
  listenOverview() {
    const strip = byId("overview");
    const go = (event) => {
      if (!(event.buttons & 1)) return;
      const {model, view} = this;
      const t = this.graph.scale(strip.clientWidth, model.start, model.last).t(event.offsetX);
      view.show(t - view.length / 2, t + view.length / 2);
    };
    strip.addEventListener("pointerdown", (event) => {
      strip.setPointerCapture(event.pointerId);
      go(event);
    });
    strip.addEventListener("pointermove", go);
  }

  get scale() {
    return this.graph.scale(this.plots.clientWidth);
  }

  place(event) {
    const box = this.plots.getBoundingClientRect();
    return {x: event.clientX - box.left, y: event.clientY - box.top};
  }

  move(event) {
    const {x, y} = this.place(event);
    const {scale, view, drag} = this;
    this.hover = x >= scale.left && x <= scale.right ? {x, y} : null;
    if (drag) {
      if (Math.abs(x - drag.x) > CLICK) drag.moved = true;
      if (drag.pan) view.show(drag.from - (scale.t(x) - scale.t(drag.x)), drag.to - (scale.t(x) - scale.t(drag.x)));
      else if (drag.moved) view.select(drag.time, Math.min(scale.right, Math.max(scale.left, x)) === x ? scale.t(x)
        : x < scale.left ? view.from : view.to);
    } else {
      const plot = byId("plot");
      const inside = this.hover && y >= plot.offsetTop && y < plot.offsetTop + plot.clientHeight;
      const group = inside ? this.graph.groupAt(scale.t(x), y - plot.offsetTop) : null;
      view.light(group === null ? -1 : group);
    }
    this.readout(this.hover && scale.t(x));
    this.over.dirty();
  }

  down(event) {
    if (event.button > 1) return;
    const {x} = this.place(event);
    const {scale, view} = this;
    if (x < scale.left || x > scale.right) return;
    this.plots.setPointerCapture(event.pointerId);
    this.plots.focus({preventScroll: true});
    if (event.button === 1) event.preventDefault();
    const pan = event.shiftKey || event.button === 1;
    this.drag = {x, time: scale.t(x), moved: false, pan, from: view.from, to: view.to};
  }

  up(event) {
    const {drag, view} = this;
    this.drag = null;
    if (!drag || drag.moved) return;
    const {x, y} = this.place(event);
    const lane = byId("collections");
    if (y >= lane.offsetTop && y < lane.offsetTop + lane.clientHeight)
      this.collections.pick(this.scale.t(x), y - lane.offsetTop);
    if (view.selection) view.deselect();
    view.at(this.scale.t(x));
  }

  cancel() {
    this.drag = null;
  }

  wheel(event) {
    const box = byId("lanes-box");
    if (!event.ctrlKey && box.contains(event.target) && box.scrollHeight > box.clientHeight) return;
    event.preventDefault();
    const {scale, view} = this;
    const {x} = this.place(event);
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      view.pan((event.deltaX || event.deltaY) / 1500);
      return;
    }
    const lines = event.deltaMode === 1 ? 30 : 1;
    view.zoom(Math.exp(Math.max(-0.6, Math.min(0.6, event.deltaY * lines * 0.0025))),
              scale.t(Math.min(scale.right, Math.max(scale.left, x))));
  }

  key(event) {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const {view, model} = this;
    const around = view.moment !== null && view.moment >= view.from && view.moment <= view.to ? view.moment : undefined;
    const keys = {
      "+": () => view.zoom(0.5, around), "=": () => view.zoom(0.5, around), "-": () => view.zoom(2, around),
      ArrowLeft: () => (event.shiftKey ? this.extend(-1) : view.pan(-0.1)),
      ArrowRight: () => (event.shiftKey ? this.extend(1) : view.pan(0.1)),
      Home: () => view.show(model.start, model.start + view.length),
      End: () => view.show(model.last - view.length, model.last),
      ",": () => this.collections.step(-1), ".": () => this.collections.step(1),
      Enter: () => view.zoomToSelection(),
      Escape: () => view.all(),
    };
    if (!keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  }

  // Shift with an arrow moves the end of the selection that moved last, as in a text.
  extend(direction) {
    const {view, model} = this;
    const {a, b} = model.snap(view.from, view.to);
    const step = direction * Math.max(1, Math.round((b - a) / 50));
    if (!view.selection) {
      const at = model.snap(view.moment === null ? (view.from + view.to) / 2 : view.moment, 0).a;
      this.anchor = at;
      this.focus = at;
    }
    this.focus = Math.min(model.slices, Math.max(0, this.focus + step));
    const [low, high] = [Math.min(this.anchor, this.focus), Math.max(this.anchor, this.focus)];
    view.select(model.border(low), model.border(Math.max(high, low + 1)));
  }

  draw(context, width, height) {
    const {view, model, scale, hover} = this;
    const top = byId("plot").offsetTop;
    if (view.selection) {
      const x0 = Math.max(scale.left, scale.x(model.border(view.selection.a)));
      const x1 = Math.min(scale.right, scale.x(model.edge(view.selection.b)));
      if (x1 > x0) {
        context.fillStyle = colours.select;
        context.globalAlpha = 0.16;
        context.fillRect(x0, top, x1 - x0, height - top);
        context.globalAlpha = 1;
        rule(context, x0, top, x0, height, colours.select);
        rule(context, x1, top, x1, height, colours.select);
      }
    }
    if (view.moment !== null && view.moment >= view.from && view.moment <= view.to) {
      const x = scale.x(view.moment);
      rule(context, x, top, x, height, colours.ink);
      context.fillStyle = colours.ink;
      context.beginPath();
      context.moveTo(x - 4, top);
      context.lineTo(x + 5, top);
      context.lineTo(x + 0.5, top + 6);
      context.fill();
    }
    if (!hover) return;
    rule(context, hover.x, top, hover.x, height, colours.faint);
    const plot = byId("plot");
    if (hover.y > plot.offsetTop && hover.y < plot.offsetTop + plot.clientHeight)
      rule(context, scale.left, hover.y, scale.right, hover.y, colours.faint);
  }

  // What is at the crosshair; without one, at the peak of the chosen span.
  readout(at) {
    const {model, view} = this;
    const peak = at === null ? peakOf(model, view.chosen.a, view.chosen.b) : null;
    const none = !model.slices;
    const a = peak ? Math.max(0, peak.slice) : model.snap(at, 0).a;
    const t = peak ? peak.time : at;
    const of = (name) => (none || !model.total[name] ? NaN : model.total[name][a]);
    const known = (value, form) => (Number.isFinite(value) && value >= 0 ? form(value) : "\u2013");
    const rate = (value) => known((value / model.slice) * 1e9, (n) => `${short(n)}/s`);
    const larger = (x, y) => (this.held(y, a) > this.held(x, a) ? y : x);
    const lit = peak && view.order.length ? view.order.reduce(larger) : view.lit;
    const texts = {
      "at-what": peak ? "Peak of the span" : "At the pointer",
      "at-time": none ? "\u2013" : moment(t, Math.max(1, view.length / 2000), view.to),
      "at-live": known(of("live_peak"), bytes), "at-mapped": known(of("mapped_peak"), bytes),
      "at-resident": known(of("resident_peak"), bytes), "at-allocs": rate(of("allocs")), "at-frees": rate(of("frees")),
      "at-site": lit < 0 || none ? "\u2013" : `${model.groups[lit].name}  ${bytes(this.held(lit, a))}`,
    };
    for (const [id, text] of Object.entries(texts)) if (byId(id).textContent !== text) byId(id).textContent = text;
  }

  held(group, slice) {
    return this.model.byGroup.peak("bytes", group, slice);
  }
}
