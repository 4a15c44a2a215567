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

function filled(part, color) {
  const inner = document.createElement("i");
  inner.style.width = `${Math.max(0, Math.min(1, part || 0)) * 100}%`;
  if (color) inner.style.background = color;
  return inner;
}

function swatch(color) {
  const made = element("span", { class: "swatch", "aria-hidden": "true" });
  made.style.background = color;
  return made;
}

function round(top) {
  if (top <= 0) return 1;
  const step = 10 ** Math.floor(Math.log10(top));
  return [1, 1.5, 2, 3, 4, 5, 6, 8, 10].map((n) => n * step).find((n) => n >= top);
}

function clock(time) {
  return new Date(time * 1000).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false });
}

// series: [{name, color, values, fill}], one value per time; stacked: each lies on the one before; nested: the first
// is the widest line, so that equal curves can all be seen.
function chart(place, times, series, { stacked = false, nested = false, top = 0, format = String, label = "" } = {}) {
  const { width, height, left, right, top: above, bottom } = CHART;
  const count = times.length;
  const base = new Array(count).fill(0);
  const layers = series.map(({ values }) => {
    if (!stacked) return { low: base, high: values };
    const low = base.slice();
    values.forEach((value, at) => { base[at] += value; });
    return { low, high: base.slice() };
  });
  const highest = top || round(Math.max(1e-9, ...layers.flatMap(({ high }) => high)));
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
    const { color, fill } = series[number];
    if (!count) return;
    const line = high.map((value, at) => `${x(at).toFixed(1)},${y(value).toFixed(1)}`);
    if (stacked || fill) {
      const back = low.map((value, at) => `${x(at).toFixed(1)},${y(value).toFixed(1)}`).reverse();
      svg.append(shape("polygon", { points: [...line, ...back].join(" "), fill: color, "fill-opacity": fill || 0.85 }));
    }
    if (!stacked) {
      svg.append(shape("polyline", { points: line.join(" "), fill: "none", stroke: color, "stroke-width": nested ? 1.8 + 1.4 * Math.min(5, series.length - 1 - number) : 2, "stroke-linejoin": "round", "vector-effect": "non-scaling-stroke" }));
    }
  });
  place.replaceChildren(framed(svg, highest, format, times), legend(series));
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
  for (const { name, color, latest } of series) {
    list.append(element("li", {}, swatch(color), latest === undefined ? name : `${name} ${latest}`));
  }
  return list;
}
