"use strict";
// Axes, figures and tables.

const DIGITS = new Intl.NumberFormat("en", { maximumSignificantDigits: 4 });
// Zeros after the point are hard to count.
const NUMBER = { format: (v) => (v !== 0 && Math.abs(v) < 1e-4 ? v.toExponential(3) : DIGITS.format(v)) };
const COUNT = new Intl.NumberFormat("en");
const [IN_LIST, IN_SELECTION, TYPICAL, FACTS] = [3, 6, 6, 12];
const LONGEST = 3; // standard deviations of the longest bar
// What the figures measure. They are computed from at most 1,000 of the points shown.
const FIGURES = {
  "precision at 10": "neighbours kept: fraction of the 10 nearest rows in the data that are among the 10 nearest in the representation",
  "vote accuracy": "accuracy of a vote of the 5 nearest other rows shown (leave-one-out; not the test accuracy of a classifier)",
  "single modules": "the same vote in one module alone, mean of the modules",
  "module correlation": "mean distance correlation between the modules",
};

function showFigures(root, chapter, current) {
  const { figures } = chapter.steps[current];
  const blocks = figures.map(([name, value], k) => {
    const block = element("div", {}, element("dt", { textContent: name }), element("dd", { textContent: NUMBER.format(value) }));
    block.dataset.figure = name;
    if (chapter.steps.length > 1) block.append(curve(chapter.steps.map((s) => s.figures[k][1]), current));
    if (FIGURES[name]) block.append(element("p", { className: "hint", textContent: FIGURES[name] }));
    return block;
  });
  root.replaceChildren(...blocks);
}

function curve(values, current, { width = 112, height = 24, steps = false } = {}) {
  const [low, high] = [Math.min(...values, steps ? 0 : Infinity), Math.max(...values)];
  const x = (i) => (values.length > 1 ? (i / (values.length - 1)) * width : width / 2);
  const y = (v) => (high > low ? height - 2 - ((v - low) / (high - low)) * (height - 4) : height / 2);
  const points = steps
    ? values.flatMap((v, i) => [[(i / values.length) * width, y(v)], [((i + 1) / values.length) * width, y(v)]])
    : values.map((v, i) => [x(i), y(v)]);
  const svg = vector("svg", { viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" });
  svg.append(vector("polyline", { class: "curve", points: points.map((p) => p.map((v) => v.toFixed(1)).join(",")).join(" ") }));
  if (current !== null) svg.append(vector("circle", { class: "dot", cx: x(current), cy: y(values[current]), r: 3 }));
  return svg;
}

function vector(tag, attributes) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  return node;
}

function showAllocation(section, root, step) {
  section.hidden = !step.allocation;
  if (!step.allocation) return;
  const [width, height] = [320, 90];
  const svg = curve(step.allocation, null, { width, height, steps: true });
  svg.setAttribute("viewBox", `0 0 ${width} ${height + 14}`);
  svg.append(vector("line", { class: "axis", x1: 0, x2: width, y1: height, y2: height }));
  const most = vector("text", { x: width, y: 10, "text-anchor": "end" });
  most.textContent = `up to ${Math.max(...step.allocation).toFixed(1)} modules`;
  const right = vector("text", { x: width, y: height + 12, "text-anchor": "end" });
  right.textContent = `direction ${step.allocation.length}`;
  svg.append(most, right);
  const held = step.allocation.filter((v) => v > 0).length;
  const text = `${held} of ${step.allocation.length} directions of the kernel are held by at least one module.`;
  root.replaceChildren(svg, element("p", { className: "hint", textContent: text }));
}

function barRow(name, value, share, color) {
  const fill = element("i");
  fill.style.width = `${100 * Math.max(0, Math.min(1, share))}%`;
  if (color) fill.style.background = color;
  const label = element("span", { textContent: name, title: name });
  return element("div", { className: "row" }, label, element("div", { className: "bar" }, fill), element("span", { textContent: value }));
}

function showBars(title, root, step) {
  title.textContent = step.bars.title[0].toUpperCase() + step.bars.title.slice(1);
  title.hidden = !step.bars.values.length;
  root.replaceChildren(...step.bars.values.map(([name, value]) => barRow(name, value.toFixed(2), value)));
}

// Every axis with the names of its ends and a strip of images, or the features that explain it.
function showAxes(section, axes) {
  section.hidden = !axes.length;
  section.classList.toggle("first", axes.some(({ strip }) => strip)); // images show more than points
  section.lastElementChild.replaceChildren(
    ...axes.map(({ name, ends, strip, features: explained }) => {
      const part = element("div", { className: "axis" }, element("h3", { textContent: name }));
      if (ends) part.append(element("p", { className: "ends" }, element("span", { textContent: `← ${ends[0]}` }), element("span", { textContent: `${ends[1]} →` })));
      if (strip) part.append(stripNode(strip, name));
      for (const [feature, strength, shape] of explained ?? []) part.append(barRow(feature, shape, strength));
      return part;
    }),
  );
}

function stripNode(strip, name) {
  const line = element("div", { className: "images" });
  line.setAttribute("role", "img");
  line.setAttribute("aria-label", `images along ${name}`);
  const side = Math.min(60, Math.floor((innerWidth - 60) / strip.count) - 2); // all of them fit on a phone
  for (let i = 0; i < strip.count; i++) {
    const node = thumbnail(strip, "", i, side);
    node.style.backgroundImage = `url(${strip.url})`;
    line.append(node);
  }
  return line;
}

function table(rows, here = -1) {
  const [head, ...body] = rows;
  const cells = (tag, row) => element("tr", {}, ...row.map((cell) => element(tag, { textContent: cell })));
  const lines = body.map((row, i) => Object.assign(cells("td", row), { className: i === here ? "here" : "" }));
  return element("div", { className: "scroll" }, element("table", {}, element("thead", {}, cells("th", head)), element("tbody", {}, ...lines)));
}

function showStations(section, chapter, current) {
  section.hidden = chapter.steps.length < 2;
  if (section.hidden) return;
  const head = ["λ", ...chapter.steps[0].figures.map(([name]) => name)];
  const rows = chapter.steps.map((s) => [String(s.diversity), ...s.figures.map(([, value]) => NUMBER.format(value))]);
  section.lastElementChild.replaceChildren(table([head, ...rows], current));
}

function showParameters(section, chapter) {
  section.hidden = !chapter.parameters.length;
  section.lastElementChild.replaceChildren(table([["parameter", "value"], ...chapter.parameters]));
}
