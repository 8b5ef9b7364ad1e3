"use strict";
// By what groups of rows differ from one another: columns, words, mean images, typical rows.
// effect = (mean inside - mean outside) / √((variance inside + variance outside) / 2), as in polyfold.explain.

const SMALL = 0.2; // Cohen's small effect: smaller differences are not shown
const NARROWEST = 0.1; // smallest denominator, in standard deviations of all rows

// The columns that describe rows; labels and clusters are what is described. Whole numbers are numbers here.
function features(chapter) {
  chapter.features ??= chapter.columns
    .filter((column) => !column.role && column.kind !== "text")
    .map((column) => (column.numeric ? { ...column, kind: "number", values: column.values.map((code) => Number(column.classes[code])) } : column));
  return chapter.features;
}

// For every group, its differences from all other rows that have a group, largest first. `codes` holds the group of
// every row, -1 for none.
function differences(chapter, codes, count) {
  const found = Array.from({ length: count }, () => []);
  const sizes = countCodes(codes, count);
  for (const column of features(chapter)) {
    if (column.kind === "number") compareNumbers(column, codes, found);
    else compareShares(column.classes.map((level) => ({ name: `${column.name}: ${level}`, column })), (i) => [column.values[i]], codes, sizes, found);
  }
  const words = readWords(chapter);
  if (words) compareShares(words.vocabulary.map((word) => ({ name: word, word })), (i) => words.rows[i], codes, sizes, found);
  for (const list of found) list.sort((a, b) => Math.abs(b.effect) - Math.abs(a.effect));
  return found;
}

// Sizes, differences and mean images of the classes of a column, computed once.
function profile(chapter, column) {
  const { values, classes } = column;
  column.profile ??= {
    sizes: countCodes(values, classes.length),
    found: differences(chapter, values, classes.length),
    means: chapter.pixels ? meanImages(chapter, values, classes.length) : null,
  };
  return column.profile;
}

function countCodes(codes, count) {
  const sizes = new Float64Array(count);
  for (const code of codes) if (code >= 0) sizes[code] += 1;
  return sizes;
}

function compareNumbers(column, codes, found) {
  const groups = found.map(() => [0, 0, 0]);
  const known = column.values.filter(Number.isFinite);
  const middle = known.reduce((a, b) => a + b, 0) / known.length; // keeps squares of large numbers apart
  for (let i = 0; i < codes.length; i++) {
    const value = column.values[i];
    if (codes[i] < 0 || !Number.isFinite(value)) continue;
    const [group, v] = [groups[codes[i]], value - middle];
    group[0] += 1;
    group[1] += v;
    group[2] += v * v;
  }
  const all = summed(groups);
  groups.forEach((own, g) => {
    const rest = all.map((v, k) => v - own[k]);
    const effect = standardised(own, rest, all);
    if (Math.abs(effect) < SMALL) return;
    const means = [own, rest].map(([n, sum]) => middle + sum / n);
    const [inside, outside] = column.date ? means.map((days) => dateText(days)) : roundedPair(...means);
    found[g].push({ name: column.name, column, effect, inside, outside });
  });
}

// Levels of a category, or words: `marks(i)` are those of row i. Only what is more frequent inside is a difference.
function compareShares(items, marks, codes, sizes, found) {
  const counts = found.map(() => new Float64Array(items.length));
  for (let i = 0; i < codes.length; i++) {
    if (codes[i] < 0) continue;
    for (const mark of marks(i)) counts[codes[i]][mark] += 1;
  }
  const totals = items.map((_, j) => counts.reduce((sum, own) => sum + own[j], 0));
  const total = sizes.reduce((a, b) => a + b, 0);
  counts.forEach((own, g) => {
    const others = total - sizes[g];
    items.forEach((item, j) => {
      const [inside, outside] = [own[j] / sizes[g], (totals[j] - own[j]) / others];
      if (!(inside > outside)) return;
      const sums = [[sizes[g], own[j], own[j]], [others, totals[j] - own[j], totals[j] - own[j]], [total, totals[j], totals[j]]];
      const effect = standardised(...sums);
      if (effect >= SMALL) found[g].push({ ...item, effect, inside: percent(inside), outside: percent(outside) });
    });
  });
}

// From numbers of rows, sums and sums of squares: inside, outside, and both together.
function standardised(inside, outside, all) {
  if (!inside[0] || !outside[0]) return 0;
  const [spread, mean] = [([n, sum, square]) => Math.max(square / n - (sum / n) ** 2, 0), ([n, sum]) => sum / n];
  const scale = Math.max(Math.sqrt((spread(inside) + spread(outside)) / 2), NARROWEST * Math.sqrt(spread(all)));
  return scale > 0 ? (mean(inside) - mean(outside)) / scale : 0;
}

const summed = (groups) => groups.reduce((all, own) => all.map((v, k) => v + own[k]), [0, 0, 0]);
// Two numbers with as many digits as it takes to see their difference.
function roundedPair(a, b) {
  const digits = Math.max(0, Math.min(20, 1 - Math.floor(Math.log10(Math.abs(a - b)))));
  const format = new Intl.NumberFormat("en", { maximumFractionDigits: digits, useGrouping: "min2" });
  return [a, b].map((v) => format.format(v).replace(/^-0$/, "0"));
}

const percent = (share) => `${Math.round(100 * share)} %`;

// Words of the texts, without stop words, contractions, words in one text and words in more than half of them.
function readWords(chapter) {
  if (!chapter.texts || chapter.words) return chapter.words;
  const stop = new Set(chapter.stop);
  const texts = chapter.texts.map((text) => {
    const plain = text.toLowerCase().replace(/\p{L}+n['’]t\b|['’](s|m|re|ve|ll|d)\b/gu, " ");
    return new Set((plain.match(/\p{L}{2,}/gu) ?? []).filter((word) => !stop.has(word)));
  });
  const counts = new Map();
  for (const words of texts) for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  const vocabulary = [...counts.keys()].filter((word) => counts.get(word) > 1 && counts.get(word) <= texts.length / 2);
  const place = new Map(vocabulary.map((word, j) => [word, j]));
  const rows = texts.map((words) => [...words].filter((word) => place.has(word)).map((word) => place.get(word)));
  return (chapter.words = { vocabulary, rows });
}

// The thumbnails as numbers, read once for each chapter.
async function readPixels(chapter) {
  if (!chapter.images || chapter.pixels) return;
  const image = element("img", { src: chapter.images.url });
  await image.decode();
  const canvas = element("canvas", { width: image.naturalWidth, height: image.naturalHeight });
  const pen = canvas.getContext("2d", { willReadFrequently: true });
  pen.drawImage(image, 0, 0);
  chapter.pixels = pen.getImageData(0, 0, canvas.width, canvas.height);
}

// Red, green and blue of a thumbnail, pixel by pixel.
function tile(chapter, i, visit) {
  const { width, height, across } = chapter.images;
  const [left, top] = [(i % across) * width, Math.floor(i / across) * height];
  const { data, width: line } = chapter.pixels;
  for (let y = 0, k = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const at = 4 * ((top + y) * line + left + x);
      for (let c = 0; c < 3; c++, k++) visit(k, data[at + c]);
    }
  }
}

// The mean image of every group.
function meanImages(chapter, codes, count) {
  const means = Array.from({ length: count }, () => new Float64Array(3 * chapter.images.width * chapter.images.height));
  const sizes = countCodes(codes, count);
  for (let i = 0; i < codes.length; i++) {
    if (codes[i] < 0) continue;
    const mean = means[codes[i]];
    tile(chapter, i, (k, value) => (mean[k] += value));
  }
  return means.map((mean, g) => mean.map((value) => value / (sizes[g] || 1)));
}

// Rows near the mean of their group: by their images, by the words that set it apart, or by all columns.
function typicalRows(chapter, rows, found, count) {
  const away = chapter.pixels ? imageDistance(chapter, rows) : chapter.texts ? wordDistance(chapter, found) : columnDistance(chapter, rows);
  return rows
    .map((i) => [i, away(i)])
    .sort((a, b) => a[1] - b[1])
    .slice(0, count)
    .map(([i]) => i);
}

function imageDistance(chapter, rows) {
  const codes = new Int32Array(chapter.n).fill(-1);
  for (const i of rows) codes[i] = 0;
  const [mean] = meanImages(chapter, codes, 1);
  return (i) => {
    let sum = 0;
    tile(chapter, i, (k, value) => (sum += (value - mean[k]) ** 2));
    return sum;
  };
}

function wordDistance(chapter, found) {
  const { vocabulary, rows } = readWords(chapter);
  const weights = new Map(found.filter((d) => d.word).map((d) => [d.word, d.effect]));
  const score = (i) => rows[i].reduce((sum, j) => sum + (weights.get(vocabulary[j]) ?? 0), 0) / Math.sqrt(rows[i].length || 1);
  return (i) => -score(i);
}

function columnDistance(chapter, rows) {
  const parts = features(chapter).map((column) => {
    if (column.kind === "class") {
      const shares = column.classes.map(() => 0);
      for (const i of rows) shares[column.values[i]] += 1 / rows.length;
      return (i) => 1 - shares[column.values[i]];
    }
    const moments = (values) => {
      const mean = values.reduce((a, b) => a + b, 0) / values.length;
      return [mean, values.reduce((sum, v) => sum + (v - mean) ** 2, 0) / values.length];
    };
    const [mean] = moments(rows.map((i) => column.values[i]).filter(Number.isFinite));
    const [, spread] = moments(column.values.filter(Number.isFinite));
    return (i) => (Number.isFinite(column.values[i]) && spread > 0 ? (column.values[i] - mean) ** 2 / spread : 1);
  });
  return (i) => parts.reduce((sum, part) => sum + part(i), 0);
}
