// view.js -- what is seen and chosen: the span on the screen, the selection, a moment; and who wants to know
//
// SPDX-License-Identifier: BSD-2-Clause
//
// The chosen span is the selection, or what is on the screen where nothing is selected.  It is always whole slices.

class View {
  constructor(model) {
    this.model = model;
    this.from = model.start;
    this.to = model.last;
    this.selection = null; // {a, b} in slices
    this.moment = null; // ns: where the list of events stands
    this.top = []; // groups that have a colour: colour of top[i] is i, or -1 for none
    this.lit = -1; // the group that the pointer is at
    this.listeners = [];
    this.timer = 0;
    this.colourTop();
  }

  // listen -- `drawn` is called at once when the span on the screen changes, `settled` when that has come to rest
  listen(drawn, settled) {
    this.listeners.push({drawn, settled});
  }

  // The shortest span that can be seen: a few events.
  get least() {
    return Math.min(this.model.last - this.model.start, 200);
  }

  get length() {
    return this.to - this.from;
  }

  get whole() {
    return this.from <= this.model.start && this.to >= this.model.last;
  }

  show(from, to) {
    const {start, last} = this.model;
    const length = Math.min(Math.max(to - from, this.least), last - start);
    this.from = Math.min(Math.max(from, start), last - length);
    this.to = this.from + length;
    this.changed();
  }

  zoom(factor, around) {
    const at = around === undefined ? (this.from + this.to) / 2 : around;
    this.show(at - (at - this.from) * factor, at + (this.to - at) * factor);
  }

  pan(part) {
    this.show(this.from + part * this.length, this.to + part * this.length);
  }

  all() {
    this.selection = null;
    this.show(this.model.start, this.model.last);
  }

  select(from, to) {
    this.selection = this.model.snap(Math.min(from, to), Math.max(from, to));
    this.changed();
  }

  deselect() {
    this.selection = null;
    this.changed();
  }

  zoomToSelection() {
    if (!this.selection) return;
    const {a, b} = this.selection;
    this.selection = null;
    this.show(this.model.border(a), this.model.edge(b));
  }

  at(moment) {
    this.moment = Math.min(Math.max(moment, this.model.start), this.model.last);
    this.changed();
  }

  light(group) {
    if (this.lit === group) return;
    this.lit = group;
    for (const {drawn} of this.listeners) drawn();
  }

  get chosen() {
    return this.selection || this.model.snap(this.from, this.to);
  }

  changed() {
    for (const {drawn} of this.listeners) drawn();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.settle(), 90);
  }

  settle() {
    clearTimeout(this.timer);
    this.colourTop();
    for (const {drawn, settled} of this.listeners) {
      drawn();
      if (settled) settled();
    }
  }

  // The largest groups of the chosen span have colours.  One that has a colour keeps it as long as it is among them.
  colourTop() {
    const {a, b} = this.chosen;
    const next = this.model.topGroups(a, b, COLOURS);
    const kept = this.top.map((group) => (next.includes(group) ? group : -1));
    while (kept.length < COLOURS) kept.push(-1);
    for (const group of next) if (!kept.includes(group)) kept[kept.indexOf(-1)] = group;
    this.top = kept;
    this.order = next; // largest first
  }

  colourOf(group) {
    const i = this.top.indexOf(group);
    return i < 0 ? "other" : `site-${i}`;
  }
}
