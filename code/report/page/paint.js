// paint.js -- canvases: their sizes, colours that follow the theme, frames only when something has changed
//
// SPDX-License-Identifier: BSD-2-Clause

const COLOURS = 10;
const NAMED = ["back", "panel", "ink", "soft", "faint", "line", "accent", "select", "run", "wait", "block", "lock",
               "rise", "fall", "mapped", "resident", "other", "program", "allocator", "collector", "kernel", "frame0",
               "frame1"];

// The colours of the style sheet, by name without the dashes; read again when the theme changes.
const colours = {};

function readColours() {
  const style = getComputedStyle(document.documentElement);
  for (const name of NAMED) colours[name] = style.getPropertyValue(`--${name}`).trim();
  colours.site = [];
  for (let i = 0; i < COLOURS; ++i) colours.site.push(style.getPropertyValue(`--site-${i}`).trim());
  colours.siteInk = colours.site.map(inkOn);
  const family = style.getPropertyValue("--font").trim() || "sans-serif";
  colours.font = `11px ${family}`;
  colours.smallFont = `9px ${family}`;
}

// The red, green and blue of a colour of the style sheet, which are all written #rrggbb.
const rgbOf = (colour) => [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16) || 0);

// What can be read on a colour: black or white, whichever has more contrast.
function inkOn(colour) {
  const [red, green, blue] = rgbOf(colour).map((c) => (c / 255) ** 2.2);
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.2 ? "#111111" : "#ffffff";
}

// One canvas, as large as its element; draw(context, width, height) is called in the next frame after dirty().
class Canvas {
  constructor(element, draw) {
    this.element = element;
    this.draw = draw;
    this.context = element.getContext("2d");
    this.wanted = true;
    Canvas.all.push(this);
  }

  dirty() {
    this.wanted = true;
    Canvas.schedule();
  }

  paint() {
    this.wanted = false;
    const {element, context} = this;
    const width = element.clientWidth;
    const height = element.clientHeight;
    if (!width || !height) return;
    const ratio = Math.min(3, window.devicePixelRatio || 1);
    const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
    if (element.width !== w || element.height !== h) [element.width, element.height] = [w, h];
    context.setTransform(w / width, 0, 0, h / height, 0, 0);
    context.clearRect(0, 0, width, height);
    context.font = colours.font;
    context.textBaseline = "middle";
    this.draw(context, width, height);
  }

  static schedule() {
    if (Canvas.pending) return;
    Canvas.pending = requestAnimationFrame(Canvas.frame);
  }

  static frame() {
    Canvas.pending = 0;
    const begin = performance.now();
    for (const canvas of Canvas.all) if (canvas.wanted) canvas.paint();
    Canvas.spent = performance.now() - begin;
    ++Canvas.frames;
  }

  static dirtyAll() {
    for (const canvas of Canvas.all) canvas.wanted = true;
    Canvas.schedule();
  }
}

Canvas.all = [];
Canvas.pending = 0;
Canvas.frames = 0;
Canvas.spent = 0;

// fitted -- text cut so that it fits, with an ellipsis; "" where not even that helps
function fitted(context, text, room) {
  if (room < 12) return "";
  if (context.measureText(text).width <= room) return text;
  let low = 0;
  let high = text.length;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (context.measureText(text.slice(0, middle) + "\u2026").width <= room) low = middle;
    else high = middle - 1;
  }
  return low ? text.slice(0, low) + "\u2026" : "";
}

// A line one pixel wide, sharp.
function rule(context, x0, y0, x1, y1, colour) {
  context.strokeStyle = colour;
  context.lineWidth = 1;
  context.beginPath();
  context.moveTo(Math.round(x0) + 0.5, Math.round(y0) + 0.5);
  context.lineTo(Math.round(x1) + 0.5, Math.round(y1) + 0.5);
  context.stroke();
}

// element -- of a name, with a class and text; all text comes into the page this way
function element(name, className, text) {
  const result = document.createElement(name);
  if (className) result.className = className;
  if (text !== undefined) result.textContent = text;
  return result;
}

const byId = (id) => document.getElementById(id);
