// Curves and areas as SVG. Everything that comes from a daemon goes in as text or as a number.
"use strict";

const SVG = "http://www.w3.org/2000/svg";
const CHART = { width: 600, height: 190, left: 44, right: 8, top: 8, bottom: 20 };

function element(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key === "class") made.className = value;
    else if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

function shape(name, attributes, text) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

// Each job has a look: one of eight colors, and beyond these a pattern, too. 32 jobs differ.
const COLORS = 8;
const PATTERNS = [
  null,
  { size: 7, turn: 45, marks: [["rect", { width: 3, height: 7 }]] },
  { size: 6, turn: 0, marks: [["rect", { width: 6, height: 2.4 }]] },
  { size: 7, turn: 0, marks: [["circle", { cx: 3.5, cy: 3.5, r: 2 }]] },
];
const PLAIN_LOOK = { color: "var(--soft)", pattern: 0 };

function lookOf(slot) {
  return { color: `var(--c${slot % COLORS})`, pattern: Math.floor(slot / COLORS) % PATTERNS.length, number: slot % COLORS };
}

// The patterns of all looks, once in the page.
function patterns() {
  const defs = shape("defs", {});
  PATTERNS.forEach((pattern, kind) => {
    if (!pattern) return;
    for (let number = 0; number < COLORS; number++) {
      const made = shape("pattern", { id: `pattern-${kind}-${number}`, width: pattern.size, height: pattern.size, patternUnits: "userSpaceOnUse", patternTransform: `rotate(${pattern.turn})` });
      made.append(shape("rect", { width: pattern.size, height: pattern.size, fill: `var(--c${number})`, "fill-opacity": 0.35 }));
      made.append(...pattern.marks.map(([name, attributes]) => shape(name, { ...attributes, fill: `var(--c${number})` })));
      defs.append(made);
    }
  });
  const svg = shape("svg", { width: 0, height: 0, class: "patterns", "aria-hidden": "true" });
  svg.append(defs);
  return svg;
}

function fillOf({ color, pattern, number }) {
  return pattern ? `url(#pattern-${pattern}-${number})` : color;
}

function filled(part, look) {
  const inner = document.createElement("i");
  inner.style.width = `${Math.max(0, Math.min(1, part || 0)) * 100}%`;
  if (look) paint(inner, look);
  return inner;
}

function paint(place, look) {
  const { color, pattern } = typeof look === "string" ? { color: look } : look;
  place.style.backgroundColor = color;
  if (pattern) place.classList.add(`pattern-${pattern}`);
}

function swatch(look) {
  const made = element("span", { class: "swatch", "aria-hidden": "true" });
  paint(made, look);
  return made;
}

// Both ends of a name stay: runs of a sweep differ at the end.
function cut(text, most) {
  const letters = [...text];
  if (letters.length <= most) return text;
  const tail = Math.floor(most / 2);
  return `${letters.slice(0, most - 1 - tail).join("")}…${letters.slice(-tail).join("")}`;
}

function round(top) {
  if (top <= 0) return 1;
  const step = 10 ** Math.floor(Math.log10(top));
  return [1, 1.5, 2, 3, 4, 5, 6, 8, 10].map((n) => n * step).find((n) => n >= top);
}

function clock(time) {
  return new Date(time * 1000).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false });
}

// From where to where there are values: a job that has not begun, or has ended, has none.
function runs(values) {
  const found = [];
  values.forEach((value, at) => {
    if (value === null) return;
    const last = found[found.length - 1];
    if (last && last[1] === at - 1) last[1] = at;
    else found.push([at, at]);
  });
  return found;
}

function area(low, high, from, to, x, y) {
  const points = [];
  for (let at = from; at <= to; at++) points.push(`${x(at).toFixed(1)},${y(high[at]).toFixed(1)}`);
  for (let at = to; at >= from; at--) points.push(`${x(at).toFixed(1)},${y(low[at]).toFixed(1)}`);
  return points.join(" ");
}

// series: [{name, look, values, fill, latest}], one value per time, null if there is none; stacked: each lies on the
// one before. What has a `latest` is in the legend.
function chart(place, times, series, { stacked = false, top = 0, format = String, label = "" } = {}) {
  const { width, height, left, right, top: above, bottom } = CHART;
  const count = times.length;
  const base = new Array(count).fill(0);
  const layers = series.map(({ values }) => {
    if (!stacked) return { low: base, high: values };
    const low = base.slice();
    values.forEach((value, at) => { base[at] += value || 0; });
    return { low, high: base.slice() };
  });
  const highest = top || round(layers.reduce((most, { high }) => high.reduce((a, b) => Math.max(a, b || 0), most), 1e-9));
  const first = count ? times[0] : 0;
  const span = count > 1 ? times[count - 1] - first : 1;
  const x = (at) => left + ((times[at] - first) / span) * (width - left - right);
  const y = (value) => above + (1 - Math.min(value, highest) / highest) * (height - above - bottom);
  const svg = shape("svg", { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", role: "img", "aria-label": label });
  for (const part of [0, 0.5, 1]) {
    const at = y(part * highest);
    svg.append(shape("line", { class: "axis", x1: left, x2: width - right, y1: at, y2: at }));
  }
  layers.forEach(({ low, high }, number) => {
    const { look, fill, values } = series[number];
    for (const [from, to] of runs(values)) {
      if (stacked || fill) svg.append(shape("polygon", { points: area(low, high, from, to, x, y), fill: fillOf(look), "fill-opacity": fill || 0.85 }));
      if (stacked) continue;
      const line = [];
      for (let at = from; at <= to; at++) line.push(`${x(at).toFixed(1)},${y(high[at]).toFixed(1)}`);
      svg.append(shape("polyline", { points: line.join(" "), fill: "none", stroke: look.color, "stroke-width": 2, "stroke-linejoin": "round", "vector-effect": "non-scaling-stroke" }));
    }
  });
  place.replaceChildren(framed(svg, highest, format, times), legend(series));
}

// A row per job: many lines over each other cannot be told apart.
function strips(place, times, series) {
  const width = 600, height = Math.max(22, Math.min(150, Math.round(190 / Math.max(1, series.length))));
  const first = times.length ? times[0] : 0;
  const span = times.length > 1 ? times[times.length - 1] - first : 1;
  const x = (at) => ((times[at] - first) / span) * width;
  const y = (value) => 1 + (1 - Math.min(1, value)) * (height - 1);
  const rows = series.map(({ name, title, look, values, latest }) => {
    const svg = shape("svg", { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", "aria-hidden": "true" });
    svg.style.height = `${height}px`;
    svg.append(shape("line", { class: "axis", x1: 0, x2: width, y1: height, y2: height }));
    const low = new Array(values.length).fill(0);
    for (const [from, to] of runs(values)) svg.append(shape("polygon", { points: area(low, values, from, to, x, y), fill: fillOf(look) }));
    return element("li", {}, element("span", { class: "who", title }, swatch(look), name), svg, element("b", {}, latest));
  });
  const ends = times.length ? [clock(times[0]), clock(times[times.length - 1])] : [];
  place.replaceChildren(element("ul", { class: "strips" }, ...rows), element("p", { class: "ends", "aria-hidden": "true" }, ...ends.map((text) => element("span", {}, text))));
}

// Letters must not be stretched with the curves, so they lie beside them.
function framed(svg, highest, format, times) {
  const frame = element("div", { class: "frame" });
  frame.style.position = "relative";
  const put = (text, position) => {
    const made = element("span", { "aria-hidden": "true" }, text);
    Object.assign(made.style, { position: "absolute", fontSize: "11px", color: "var(--soft)", pointerEvents: "none", background: "var(--card)", padding: "0 2px", lineHeight: "1.1" }, position);
    frame.append(made);
  };
  frame.append(svg);
  put(format(highest), { left: "0", top: "2px" });
  put(format(highest / 2), { left: "0", top: "42%" });
  put(format(0), { left: "0", bottom: "16px" });
  if (times.length) {
    put(clock(times[0]), { left: "7.5%", bottom: "0" });
    put(clock(times[times.length - 1]), { right: "0", bottom: "0" });
  }
  return frame;
}

function legend(series) {
  const list = element("ul", { class: "legend" });
  for (const { name, title, look, latest } of series) {
    if (latest !== undefined) list.append(element("li", title ? { title } : {}, swatch(look), name, ...(latest ? [" ", element("b", {}, latest)] : [])));
  }
  return list;
}
