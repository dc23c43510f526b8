// icicle.js -- whole stacks as an icicle: from the outermost frame down, or from the caller up
//
// SPDX-License-Identifier: BSD-2-Clause
//
// A frame is as wide as what was asked for under it.  A click, or Enter, makes one as wide as the picture; Escape goes
// back.  The arrow keys walk the tree: for the keyboard the chosen frame has an outline, and is said in words.

const FRAME = 19;
const REST = "stacks not shown singly";
const THIN = 0.7; // pixels: narrower frames are not drawn
const WEIGHTS = {
  peak: {title: "at the peak", of: (rows, row, a, b, at) => (at < 0 ? 0 : rows.peak("bytes", row, at)), form: bytes},
  left: {title: "left at the end", form: bytes,
         of: (rows, row, a, b) => rows.live("bytes", row, b) + rows.in("ended_bytes", row, a, b)},
  allocated: {title: "allocated", of: (rows, row, a, b) => rows.in("alloc_bytes", row, a, b), form: bytes},
  calls: {title: "allocations", of: (rows, row, a, b) => rows.in("allocs", row, a, b), form: count},
  temporary: {title: "temporary", of: (rows, row, a, b) => rows.in("temporary", row, a, b), form: count},
};

class Icicle {
  constructor(model, view) {
    Object.assign(this, {model, view, weight: "peak", up: false, focus: [], chosen: null, hover: null});
    this.element = byId("icicle");
    this.canvas = new Canvas(this.element, (c, w, h) => this.draw(c, w, h));
    this.listen();
    view.listen(() => {}, () => this.update());
    this.update();
  }

  listen() {
    const {element} = this;
    element.addEventListener("pointermove", (event) => this.point(this.nodeAt(event.offsetX, event.offsetY)));
    element.addEventListener("pointerleave", () => this.point(null));
    element.addEventListener("click", (event) => {
      const node = this.nodeAt(event.offsetX, event.offsetY);
      if (node) this.focusOn(node);
    });
    element.addEventListener("keydown", (event) => this.key(event));
    element.addEventListener("focus", () => this.choose(this.chosen || this.root));
    element.addEventListener("blur", () => this.canvas.dirty());
    byId("weight").addEventListener("change", (event) => this.set({weight: event.target.value}));
    for (const [id, up] of [["top-down", false], ["bottom-up", true]])
      byId(id).addEventListener("click", () => this.set({up}));
  }

  set(options) {
    if (options.up !== undefined && options.up !== this.up) this.focus = [];
    Object.assign(this, options);
    byId("top-down").setAttribute("aria-pressed", String(!this.up));
    byId("bottom-up").setAttribute("aria-pressed", String(this.up));
    this.update();
  }

  // The frames of a row, from the root of this tree on.
  path(site, row) {
    if (site.other) return ["other"];
    if (site.rest) return this.up ? [site.function] : [REST, site.function];
    const begin = Math.max(0, site.stack.indexOf(site.function));
    const stack = site.stack.length ? site.stack.slice(this.up ? begin : 0) : [site.function];
    if (site.function < 0 && !site.stack.length) return [`group ${this.model.groupOfRow[row]}`];
    return this.up ? stack : stack.reverse();
  }

  update() {
    const {model, view} = this;
    const {a, b} = view.chosen;
    const peak = peakOf(model, a, b).slice;
    const {of} = WEIGHTS[this.weight];
    this.root = {key: "all", name: "all", value: 0, children: new Map(), parent: null, depth: 0, group: -1};
    model.sites.forEach((site, row) => {
      const value = of(model.bySite, row, a, b, peak);
      if (!(value > 0)) return;
      this.root.value += value;
      let node = this.root;
      for (const key of this.path(site, row)) node = this.child(node, key, row, value);
    });
    this.order(this.root);
    this.focused = this.find(this.focus);
    this.chosen = null;
    this.hover = null;
    this.size();
    this.say(null);
  }

  child(parent, key, row, value) {
    let node = parent.children.get(key);
    if (!node) {
      const {functions, groups, groupOfRow, groupOfFunction} = this.model;
      const one = functions[key] || {};
      const name = key === REST ? REST : textOf(one.name) || groups[groupOfRow[row]].name;
      node = {key, name, parent, depth: parent.depth + 1, value: 0, children: new Map(), module: textOf(one.module),
              file: textOf(one.file), line: one.line, group: groupOfFunction.has(key) ? groupOfFunction.get(key) : -1};
      parent.children.set(key, node);
    }
    node.value += value;
    return node;
  }

  // Largest first, but what is no frame last.
  order(node) {
    const last = (one) => (one.key === "other" ? 2 : one.key === REST ? 1 : 0);
    node.list = [...node.children.values()].sort((x, y) => last(x) - last(y) || y.value - x.value);
    node.list.forEach((child) => this.order(child));
  }

  // The node at the end of a path of keys, as far as it is there.
  find(keys) {
    let node = this.root;
    for (const key of keys) {
      if (!node.children.has(key)) break;
      node = node.children.get(key);
    }
    return node;
  }

  focusOn(node) {
    const at = node === this.focused && node.parent ? node.parent : node;
    this.focus = [];
    for (let one = at; one.parent; one = one.parent) this.focus.unshift(one.key);
    this.focused = at;
    this.size();
  }

  // As high as the deepest frame that is wide enough to be drawn.
  size() {
    const deepest = (node, room) =>
      node.list.reduce((depth, child) => {
        const part = (room * child.value) / node.value;
        return part < THIN ? depth : Math.max(depth, deepest(child, part));
      }, node.depth);
    const levels = deepest(this.focused, this.element.clientWidth || 1200) + 1;
    this.element.style.height = `${Math.max(3, levels) * FRAME + 2}px`;
    this.canvas.dirty();
  }

  draw(context, width) {
    this.drawn = [];
    let ancestor = this.focused;
    const above = [];
    while ((ancestor = ancestor.parent)) above.unshift(ancestor);
    above.forEach((node) => this.drawNode(context, node, 0, width, 0.45));
    if (this.focused.value > 0) this.drawTree(context, this.focused, 0, width);
    const mark = this.hover || (document.activeElement === this.element ? this.chosen : null);
    const box = mark && this.drawn.find((one) => one.node === mark);
    if (!box) return;
    context.strokeStyle = colours.ink;
    context.lineWidth = 2;
    context.strokeRect(box.x + 1, box.y + 1, Math.max(2, box.width - 3), FRAME - 3);
  }

  drawTree(context, node, x, width) {
    this.drawNode(context, node, x, width, 1);
    let at = x;
    for (const child of node.list) {
      const room = (width * child.value) / node.value;
      if (room < THIN) break;
      this.drawTree(context, child, at, room);
      at += room;
    }
  }

  drawNode(context, node, x, width, alpha) {
    const y = node.depth * FRAME;
    const colour = node.group >= 0 ? this.view.colourOf(node.group) : "other";
    context.globalAlpha = alpha;
    context.fillStyle = colour === "other" ? (node.depth % 2 ? colours.frame0 : colours.frame1)
      : colours.site[Number(colour.slice(5))];
    context.fillRect(x, y, Math.max(0.5, width - 1), FRAME - 1);
    if (width > 28) {
      context.fillStyle = colour === "other" ? colours.ink : colours.siteInk[Number(colour.slice(5))];
      context.textAlign = "left";
      const left = Math.max(0, x);
      context.fillText(fitted(context, node.name, width - 10), left + 5, y + FRAME / 2);
      const used = context.measureText(node.name).width + 22;
      const value = WEIGHTS[this.weight].form(node.value);
      if (used + context.measureText(value).width < width) {
        context.textAlign = "right";
        context.globalAlpha = alpha * 0.75;
        context.fillText(value, x + width - 7, y + FRAME / 2);
      }
    }
    context.globalAlpha = 1;
    this.drawn.push({node, x, y, width});
  }

  nodeAt(x, y) {
    const inside = (box) => x >= box.x && x < box.x + box.width && y >= box.y && y < box.y + FRAME;
    const box = (this.drawn || []).find(inside);
    return box ? box.node : null;
  }

  point(node) {
    if (this.hover === node) return;
    this.hover = node;
    this.element.style.cursor = node ? "pointer" : "";
    this.say(node);
    this.canvas.dirty();
  }

  choose(node) {
    this.chosen = node;
    this.say(node);
    this.canvas.dirty();
  }

  say(node) {
    const {form, title} = WEIGHTS[this.weight];
    const {root} = this;
    const source = (one) => (one.file ? `, ${one.file}:${one.line}` : "");
    const place = (one) => (one.module ? ` (${baseName(one.module)})` : "") + source(one);
    const text = node && node !== root
      ? `${node.name}${place(node)}: ${form(node.value)} ${title}, ${share(node.value, root.value) || "0%"} of all`
      : root.value > 0 ? `All: ${form(root.value)} ${title}` : `Nothing ${title} in this span`;
    byId("icicle-says").textContent = text;
    this.element.setAttribute("aria-label", `Callers, an icicle. ${text}`);
  }

  key(event) {
    const at = this.chosen || this.root;
    const siblings = at.parent ? at.parent.list : [at];
    const i = siblings.indexOf(at);
    const keys = {
      ArrowDown: () => this.choose(at.list[0] || at), ArrowUp: () => this.choose(at.parent || at),
      ArrowLeft: () => this.choose(siblings[i - 1] || at), ArrowRight: () => this.choose(siblings[i + 1] || at),
      Enter: () => this.focusOn(at), Escape: () => this.focusOn(this.root),
    };
    if (!keys[event.key] || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    keys[event.key]();
  }
}
