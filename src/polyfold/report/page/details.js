"use strict";
// Everything beside the panels: figures, legend, bars, neighbours, tables.

const DIGITS = new Intl.NumberFormat("en", { maximumSignificantDigits: 4 });
// Zeros after the point are hard to count.
const NUMBER = { format: (v) => (v !== 0 && Math.abs(v) < 1e-4 ? v.toExponential(3) : DIGITS.format(v)) };
const PARTS = { modules: "module", layers: "layer", coordinates: "coordinate" };

function showFigures(root, chapter, current) {
  const { figures } = chapter.steps[current];
  const blocks = figures.map(([name, value], k) => {
    const block = element("div", {}, element("dt", { textContent: name }), element("dd", { textContent: NUMBER.format(value) }));
    block.dataset.figure = name;
    if (chapter.steps.length > 1) block.append(curve(chapter.steps.map((s) => s.figures[k][1]), current));
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
  const text = `${held} of ${step.allocation.length} directions of the kernel are held by some module.`;
  root.replaceChildren(svg, element("p", { className: "hint", textContent: text }));
}

function barRow(name, value, share, color) {
  const fill = element("i");
  fill.style.width = `${100 * Math.max(0, Math.min(1, share))}%`;
  if (color) fill.style.background = color;
  const label = element("span", { textContent: name, title: name });
  return element("div", { className: "row" }, label, element("div", { className: "bar" }, fill), element("span", { textContent: value }));
}

function showBars(title, root, chapter, step) {
  title.textContent = step.bars.title[0].toUpperCase() + step.bars.title.slice(1);
  const named = chapter.kind === "layers" ? step.views.map((view) => view.name.replace(/ \(.*/, "")) : null;
  const rows = step.bars.values.map((v, i) => barRow(named ? named[i] : `${PARTS[chapter.kind]} ${i}`, v.toFixed(2), v));
  root.replaceChildren(...rows);
}

function showLegend(root, column, { colors, type, low, high, unknown }, onClass) {
  root.hidden = !column || column.kind === "text";
  if (root.hidden) return;
  if (type === "continuous") {
    const strip = element("span", { className: "ramp" });
    strip.style.background = `linear-gradient(90deg, ${colors.slice(1).join(",")})`;
    const step = 10 ** Math.floor(Math.log10((high - low) / 100 || 1)); // two digits of the range say enough
    const [first, last] = [low, high].map((v) => NUMBER.format(step * Math.round(v / step)));
    root.replaceChildren(`${column.name} ${first}`, strip, last);
    if (unknown) root.append(swatch(colors[0]), "missing or infinite");
    return;
  }
  const buttons = column.classes.map((name, i) => {
    const button = element("button", { type: "button", onclick: (event) => onClass(i, event.shiftKey || event.ctrlKey) });
    button.append(swatch(colors[i]), name);
    return button;
  });
  root.replaceChildren(...buttons);
}

function swatch(color) {
  const node = element("span", { className: "swatch" });
  node.style.background = color;
  return node;
}

// A thumbnail, `side` pixels at its longer side; the style sheet of the chapter holds the picture.
function thumbnail(images, kind, i, side) {
  const scale = side / Math.max(images.width, images.height);
  const node = element("span", { className: `thumb ${kind}` });
  const [column, row] = [i % images.across, Math.floor(i / images.across)];
  Object.assign(node.style, {
    width: `${images.width * scale}px`,
    height: `${images.height * scale}px`,
    backgroundSize: `${images.across * images.width * scale}px auto`,
    backgroundPosition: `${-column * images.width * scale}px ${-row * images.height * scale}px`,
  });
  return node;
}

const rowNumber = (chapter, i) => (chapter.rows ? chapter.rows[i] : i);

function facts(chapter, i) {
  const list = element("dl", { className: "facts" });
  for (const column of chapter.columns) {
    list.append(element("dt", { textContent: column.name }), element("dd", { textContent: valueText(column, i) }));
  }
  return list;
}

function tip(chapter, i) {
  const parts = [element("b", { textContent: `row ${rowNumber(chapter, i)}` })];
  if (chapter.images) parts.push(thumbnail(chapter.images, "images", i, 64));
  return [...parts, facts(chapter, i)];
}

function pointButton(chapter, i, column, colors, focus, onPoint) {
  const button = element("button", { type: "button", className: "point", onclick: () => onPoint(i) });
  const isClass = column?.kind === "class";
  if (chapter.images) button.append(thumbnail(chapter.images, "images", i, 36));
  button.append(element("span", { textContent: isClass ? valueText(column, i) : rowNumber(chapter, i) }));
  button.setAttribute("aria-label", `row ${rowNumber(chapter, i)}${isClass ? `, ${column.name} ${valueText(column, i)}` : ""}`);
  if (isClass) {
    button.style.borderColor = colors[column.values[i]];
    if (focus !== null) button.classList.add(column.values[i] === column.values[focus] ? "same" : "other");
  }
  return button;
}

function neighborsOf(data, chapter, step, focus) {
  return step.neighbors.map(([name, place]) => {
    const all = data.array(place);
    const k = all.length / chapter.n;
    return [name, Array.from(all.subarray(focus * k, (focus + 1) * k))];
  });
}

function showNeighbors(root, data, chapter, step, focus, column, colors, onPoint) {
  if (focus === null) {
    root.replaceChildren(element("p", { className: "hint", textContent: "Click a point to see who is near it in every view." }));
    return;
  }
  const parts = [element("p", { textContent: `Row ${rowNumber(chapter, focus)}` })];
  if (chapter.images) parts.push(pictures(chapter, focus));
  parts.push(facts(chapter, focus));
  const lists = neighborsOf(data, chapter, step, focus);
  if (!lists.length) {
    const own = chapter.steps[chapter.start].diversity;
    const text = `To keep the file small, neighbours are stored for λ = ${own} only; move the slider there.`;
    parts.push(element("p", { className: "hint", textContent: text }));
  }
  for (const [name, found] of lists) {
    const buttons = found.map((i) => pointButton(chapter, i, column, colors, focus, onPoint));
    parts.push(element("div", { className: "strip" }, element("h3", { textContent: `in ${name}` }), element("div", {}, ...buttons)));
  }
  root.replaceChildren(...parts);
}

function pictures(chapter, i) {
  const pair = element("div", { className: "pair" });
  for (const [kind, name] of [["images", chapter.rebuilt ? "data" : ""], ["rebuilt", "rebuilt by all modules"]]) {
    if (chapter[kind]) pair.append(element("span", {}, thumbnail(chapter[kind], kind, i, 84), name));
  }
  return pair;
}

function showSelection(root, chapter, chosen, column, colors, onPoint) {
  if (!chosen.length) {
    root.replaceChildren(element("p", { className: "hint", textContent: "Nothing selected: draw a lasso or press a class." }));
    return;
  }
  const share = NUMBER.format((100 * chosen.length) / chapter.n);
  const parts = [element("p", { id: "count", textContent: `${chosen.length} of ${chapter.n} points (${share} %)` })];
  if (column?.kind === "class") {
    const counts = column.classes.map(() => 0);
    for (const i of chosen) counts[column.values[i]] += 1;
    const order = counts.map((_, c) => c).filter((c) => counts[c]).sort((a, b) => counts[b] - counts[a]);
    for (const c of order.slice(0, 10)) {
      parts.push(barRow(column.classes[c], String(counts[c]), counts[c] / chosen.length, colors[c]));
    }
  }
  const some = chosen.slice(0, 18).map((i) => pointButton(chapter, i, column, colors, null, onPoint));
  root.replaceChildren(...parts, element("div", { className: "strip" }, element("div", {}, ...some)));
}

function table(rows, here = -1) {
  const [head, ...body] = rows;
  const cells = (tag, row) => element("tr", {}, ...row.map((cell) => element(tag, { textContent: cell })));
  const lines = body.map((row, i) => Object.assign(cells("td", row), { className: i === here ? "here" : "" }));
  return element("div", { className: "scroll" }, element("table", {}, element("thead", {}, cells("th", head)), element("tbody", {}, ...lines)));
}

function showStations(details, chapter, current) {
  details.hidden = chapter.steps.length < 2;
  if (details.hidden) return;
  const head = ["λ", ...chapter.steps[0].figures.map(([name]) => name)];
  const rows = chapter.steps.map((s) => [String(s.diversity), ...s.figures.map(([, value]) => NUMBER.format(value))]);
  details.lastElementChild.replaceChildren(table([head, ...rows], current));
}

function showParameters(details, chapter) {
  details.hidden = !chapter.parameters.length;
  details.lastElementChild.replaceChildren(table([["parameter", "value"], ...chapter.parameters]));
}

// Every axis with its name and a strip of images, or the features that explain it.
function showAxes(root, axes) {
  root.hidden = !axes.length;
  root.lastElementChild.replaceChildren(
    ...axes.map(({ name, ends, strip, features }) => {
      const title = element("h3", { textContent: ends ? `${name}: ${ends.join(" → ")}` : name });
      const part = element("div", { className: "axis" }, title);
      if (strip) part.append(element("img", { src: strip.url, alt: `images along ${name}` }));
      for (const [feature, strength, shape] of features ?? []) part.append(barRow(feature, shape, strength));
      return part;
    }),
  );
}
