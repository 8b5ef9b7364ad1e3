"use strict";
// The list of classes, what is selected, and the neighbours of a row.

// The classes of the colouring column with size, name and what sets them apart; or the ramp of its numbers.
function showClasses(root, chapter, column, coloring, onClass) {
  if (coloring.type === "continuous") return showRamp(root, column, coloring);
  const { sizes, found, means } = profile(chapter, column);
  const order = column.classes.map((_, c) => c);
  if (column.role === "cluster") order.sort((a, b) => isNoise(column, a) - isNoise(column, b) || sizes[b] - sizes[a]);
  const buttons = order.map((c) => {
    const name = element("span", { className: "name", textContent: className(column, c) });
    const about = element("span", { className: "about", textContent: found[c].slice(0, IN_LIST).map(phrase).join(" · ") });
    const button = element("button", { type: "button", onclick: (event) => onClass(c, event.shiftKey || event.ctrlKey) });
    const sign = means ? [imageNode(means[c], chapter.images, 34)] : [];
    button.append(swatch(coloring.colors[c]), ...sign, element("span", { className: "what" }, name, about), element("span", { className: "size", textContent: COUNT.format(sizes[c]) }));
    button.dataset.code = c;
    return button;
  });
  root.replaceChildren(...buttons);
}

// A difference in few words.
const phrase = (d) => (d.word ? d.name : `${d.name} ${d.inside} (rest ${d.outside})`);

function showRamp(root, column, { colors, low, high, unknown }) {
  const strip = element("span", { className: "ramp" });
  strip.style.background = `linear-gradient(90deg, ${colors.slice(1).join(",")})`;
  const step = 10 ** Math.floor(Math.log10((high - low) / 100 || 1)); // two digits of the range are enough
  const [first, last] = [low, high].map((v) => (column.date ? dateText(v) : NUMBER.format(step * Math.round(v / step))));
  const line = element("p", { className: "scale" }, `${column.name} ${first}`, strip, last);
  if (unknown) line.append(swatch(colors[0]), "missing or infinite");
  root.replaceChildren(line);
}

function swatch(color) {
  const node = element("span", { className: "swatch" });
  node.style.background = color;
  return node;
}

// A mean image, `side` pixels at its longer side.
function imageNode(mean, { width, height }, side) {
  const canvas = element("canvas", { className: "mean", width, height });
  const scale = side / Math.max(width, height);
  Object.assign(canvas.style, { width: `${width * scale}px`, height: `${height * scale}px` });
  const pixels = new ImageData(width, height);
  for (let k = 0; k < width * height; k++) {
    for (let c = 0; c < 3; c++) pixels.data[4 * k + c] = mean[3 * k + c];
    pixels.data[4 * k + 3] = 255;
  }
  canvas.getContext("2d").putImageData(pixels, 0, 0);
  return canvas;
}

// A thumbnail, `side` pixels at its longer side; the style sheet of the chapter holds the image.
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

function facts(chapter, i, column) {
  const list = element("dl", { className: "facts" });
  const add = (name, value) => list.append(element("dt", { textContent: name }), element("dd", { textContent: value }));
  if (column?.role === "cluster") add("cluster", className(column, column.values[i]));
  if (chapter.texts) add("text", chapter.texts[i]);
  const shown = chapter.columns.filter(({ role }) => role !== "cluster").slice(0, FACTS);
  for (const own of shown) add(own.name, valueText(own, i));
  return list;
}

function tip(chapter, i, column) {
  const parts = [element("b", { textContent: `row ${rowNumber(chapter, i)}` })];
  if (chapter.images) parts.push(thumbnail(chapter.images, "images", i, 64));
  return [...parts, facts(chapter, i, column)];
}

function pointButton(chapter, i, column, colors, focus, onPoint) {
  const button = element("button", { type: "button", className: "point", onclick: () => onPoint(i) });
  const isClass = column?.kind === "class";
  if (chapter.images) button.append(thumbnail(chapter.images, "images", i, 36));
  button.append(element("span", { textContent: isClass && focus !== null ? valueText(column, i) : rowNumber(chapter, i) }));
  button.setAttribute("aria-label", `row ${rowNumber(chapter, i)}${isClass ? `, ${column.name} ${valueText(column, i)}` : ""}`);
  if (chapter.texts) button.title = chapter.texts[i];
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
  root.parentElement.hidden = focus === null;
  if (focus === null) return;
  const parts = [element("p", { textContent: `Row ${rowNumber(chapter, focus)}` })];
  if (chapter.images) parts.push(pictures(chapter, focus));
  parts.push(facts(chapter, focus, column));
  const lists = neighborsOf(data, chapter, step, focus);
  if (!lists.length) {
    const own = chapter.steps[chapter.start].diversity;
    const text = `To keep the file small, neighbours are stored for λ = ${own} only. Move the slider there.`;
    parts.push(element("p", { className: "hint", textContent: text }));
  }
  for (const [name, found] of lists) {
    const items = chapter.texts ? [textList(chapter, found, onPoint)] : found.map((i) => pointButton(chapter, i, column, colors, focus, onPoint));
    parts.push(element("div", { className: "strip" }, element("h3", { textContent: `in ${name}` }), element("div", {}, ...items)));
  }
  root.replaceChildren(...parts);
}

function pictures(chapter, i) {
  const pair = element("div", { className: "pair" });
  for (const [kind, name] of [["images", chapter.rebuilt ? "data" : ""], ["rebuilt", "reconstructed by all modules"]]) {
    if (chapter[kind]) pair.append(element("span", {}, thumbnail(chapter[kind], kind, i, 84), name));
  }
  return pair;
}

// What sets the selected rows apart from the rest, or from the selection they are compared with.
function showSelection(root, chapter, { rows, title }, reference, column, colors, onPoint) {
  if (!rows.length) {
    const text = reference
      ? `Select other rows to compare them with “${reference.title}”.`
      : "Click an entry of the list, or draw a lasso on a plot. You then see here what the selected rows have in common.";
    root.replaceChildren(element("p", { className: "hint", textContent: text }));
    return;
  }
  const codes = new Int32Array(chapter.n).fill(reference ? -1 : 1);
  for (const i of reference?.rows ?? []) codes[i] = 1;
  for (const i of rows) codes[i] = 0;
  const others = reference ? "the other" : "the rest";
  const [found] = differences(chapter, codes, 2);
  const count = `${COUNT.format(rows.length)} of ${COUNT.format(chapter.n)} rows (${percent(rows.length / chapter.n)})${reference ? `, compared with “${reference.title}” (${COUNT.format(reference.rows.length)} rows)` : ""}`;
  const parts = [element("h3", { textContent: title }), element("p", { id: "count", textContent: count })];
  if (chapter.pixels) {
    const [own, rest] = meanImages(chapter, codes, 2);
    const named = (mean, name) => element("span", {}, imageNode(mean, chapter.images, 84), name);
    parts.push(element("div", { className: "pair" }, named(own, "mean image"), named(rest, `of ${others}`)));
  }
  if (found.length || features(chapter).length || chapter.texts) parts.push(...differenceBars(found, others));
  const shown = new Set([column, chapter.columns.find(({ role }) => role === "label")]);
  for (const own of shown) if (own?.kind === "class") parts.push(...composition(own, rows, own === column ? colors : null));
  parts.push(element("h3", { textContent: "Typical rows" }), examples(chapter, typicalRows(chapter, rows, found, TYPICAL), found, column, colors, onPoint));
  root.replaceChildren(...parts);
}

function differenceBars(found, others) {
  const shown = found.slice(0, IN_SELECTION);
  if (!shown.length) return [element("p", { className: "hint", textContent: "No column differs by more than 0.2 standard deviations." })];
  const longest = Math.min(LONGEST, Math.max(1, ...shown.map((d) => Math.abs(d.effect))));
  const rows = shown.map((d) => {
    const fill = element("i", { className: d.effect < 0 ? "down" : "up" });
    fill.style.width = `${50 * Math.min(1, Math.abs(d.effect) / longest)}%`;
    const values = element("span", { className: "values" }, element("b", { textContent: d.inside }), ` ${d.outside}`);
    const row = element("div", { className: "difference" }, element("span", { textContent: d.name, title: d.name }), element("div", { className: "both" }, fill), values);
    row.title = `difference of ${NUMBER.format(d.effect)} standard deviations`;
    return row;
  });
  const head = element("div", { className: "difference head" }, element("span", { textContent: "differs by" }), element("span"), element("span", { className: "values" }, element("b", { textContent: "here" }), ` ${others}`));
  return [head, ...rows];
}

// How the selected rows are distributed over the classes of a column.
function composition(column, rows, colors) {
  const counts = column.classes.map(() => 0);
  for (const i of rows) counts[column.values[i]] += 1;
  const order = counts.map((_, c) => c).filter((c) => counts[c]).sort((a, b) => counts[b] - counts[a]);
  if (colors && order.length < 2) return [];
  const bars = order.slice(0, 5).map((c) => barRow(className(column, c), String(counts[c]), counts[c] / rows.length, colors?.[c]));
  if (order.length > 5) bars.push(element("p", { className: "hint", textContent: `and ${order.length - 5} more` }));
  return [element("h3", { textContent: column.role === "cluster" ? "Clusters" : column.name }), ...bars];
}

// Rows as thumbnails, as texts, or as a table of the columns that set them apart.
function examples(chapter, rows, found, column, colors, onPoint) {
  if (chapter.images) return element("div", { className: "strip" }, element("div", {}, ...rows.map((i) => pointButton(chapter, i, column, colors, null, onPoint))));
  if (chapter.texts) return textList(chapter, rows, onPoint);
  const telling = [...new Set(found.filter((d) => d.column).map((d) => d.column))];
  const named = chapter.columns.filter(({ kind, role }) => kind === "text" && !role).slice(0, 1);
  const shown = [...named, ...telling, ...features(chapter).filter((c) => !telling.includes(c))].slice(0, 4);
  const body = rows.map((i) => [String(rowNumber(chapter, i)), ...shown.map((own) => valueText(own, i))]);
  const node = table([["row", ...shown.map(({ name }) => name)], ...body]);
  node.querySelectorAll("tbody tr").forEach((line, k) => {
    const button = element("button", { type: "button", className: "link", textContent: body[k][0], onclick: () => onPoint(rows[k]) });
    line.firstElementChild.replaceChildren(button);
  });
  return node;
}

function textList(chapter, rows, onPoint) {
  const items = rows.map((i) => element("li", {}, element("button", { type: "button", className: "link", textContent: chapter.texts[i], onclick: () => onPoint(i) })));
  items.forEach((item, k) => item.firstElementChild.setAttribute("aria-label", `row ${rowNumber(chapter, rows[k])}: ${chapter.texts[rows[k]]}`));
  return element("ul", { className: "texts" }, ...items);
}
