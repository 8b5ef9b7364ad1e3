"use strict";
// The data of the page: a header of JSON and arrays, compressed, in the text of a script element.

async function readData() {
  if (typeof DecompressionStream === "undefined") {
    throw new Error("This browser is too old for the compressed data of this page; use one from 2023 or later.");
  }
  const text = atob(document.getElementById("data").textContent);
  const packed = Uint8Array.from(text, (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  const buffer = await new Response(stream).arrayBuffer();
  const length = new DataView(buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  return { ...header, array: (place) => arrayAt(buffer, 4 + length, place) };
}

function arrayAt(buffer, start, { at, bits, size }) {
  const types = { 8: Uint8Array, 16: Uint16Array, 32: Uint32Array };
  return new types[bits](buffer, start + at, size);
}

// Three bytes hold two coordinates of twelve bits; they become numbers between -0.95 and 0.95.
function planeOf(bytes) {
  const n = bytes.length / 3;
  const x = new Float32Array(n);
  const y = new Float32Array(n);
  for (let i = 0; i < n; i++) {
    const [a, b, c] = [bytes[3 * i], bytes[3 * i + 1], bytes[3 * i + 2]];
    x[i] = (((a << 4) | (b >> 4)) / 4095) * 1.9 - 0.95;
    y[i] = ((((b & 15) << 8) | c) / 4095) * 1.9 - 0.95;
  }
  return { x, y };
}

// Twelve colours that remain apart for colour-blind readers (Krzywinski), and a ramp that is even for all (cividis).
const COLORS = [
  "#008df9", "#ff6e3a", "#009f81", "#ff5aaf", "#ffc33b", "#8400cd", "#a40122", "#00c2f9", "#00d9b2", "#c98bd9", "#9f0162", "#e20134",
];
const RAMP = ["#00224e", "#123570", "#3b496c", "#575d6d", "#707173", "#8a8678", "#a59c74", "#c3b369", "#e1cc55", "#fee838"];
const PLAIN = "#008df9";
const UNKNOWN = "#e20134"; // of points whose number is missing or infinite

// What colours the points: a value for each, and the colours of the values.
function coloring(column) {
  if (!column || column.kind === "text") return { values: null, colors: [PLAIN], type: "categorical" };
  if (column.kind === "class") {
    const color = column.classes.length > 4 * COLORS.length ? hueColor : classColor;
    const colors = column.classes.map((_, i) => legible(color(i)));
    return { values: column.values, colors: colors.length > 1 ? colors : [colors[0], colors[0]], type: "categorical" };
  }
  const known = column.values.filter(Number.isFinite);
  const low = known.reduce((a, b) => Math.min(a, b), Infinity);
  const high = known.reduce((a, b) => Math.max(a, b), -Infinity);
  // The first of 64 colours is for missing values; half a step keeps rounding away from it.
  const place = (v) => (1.5 + 61.5 * (high === low ? 0 : (v - low) / (high - low))) / 63;
  const values = column.values.map((v) => (Number.isFinite(v) ? place(v) : 0));
  return { values, colors: [UNKNOWN, ...ramp(63).map(legible)], type: "continuous", low, high, unknown: known.length < values.length };
}

// Beyond twelve classes colours come again darker, then lighter, then darker still.
function classColor(i) {
  const [towards, share] = [[0, 0], [0, 0.45], [255, 0.5], [0, 0.7]][Math.floor(i / COLORS.length) % 4];
  return mixed(COLORS[i % COLORS.length], towards, share);
}

// Colours of many classes: all different, and neighbouring numbers far apart in hue (golden angle).
function hueColor(i) {
  const [hue, light, strength] = [(i * 137.508) % 360, [0.5, 0.36, 0.66][i % 3], 0.9];
  const level = (n) => {
    const k = (n + hue / 30) % 12;
    return 255 * (light - strength * Math.min(light, 1 - light) * Math.max(-1, Math.min(k - 3, 9 - k, 1)));
  };
  return hex([level(0), level(8), level(4)]);
}

// On dark paper dark colours are brought up to half the brightness of white.
function legible(color) {
  const isDark = document.documentElement.dataset.theme === "dark";
  const [r, g, b] = parts(color);
  const lack = 0.5 - (0.3 * r + 0.59 * g + 0.11 * b) / 255;
  return isDark && lack > 0 ? mixed(color, 255, 0.7 * lack) : color;
}

function mixed(color, towards, share) {
  return hex(parts(color).map((v) => v + share * (towards - v)));
}

function parts(color) {
  return [1, 3, 5].map((k) => parseInt(color.slice(k, k + 2), 16));
}

function hex(levels) {
  return "#" + levels.map((v) => Math.round(v).toString(16).padStart(2, "0")).join("");
}

function ramp(count) {
  const known = RAMP.map(parts);
  return Array.from({ length: count }, (_, i) => {
    const at = (i / (count - 1)) * (known.length - 1);
    const k = Math.min(Math.floor(at), known.length - 2);
    return hex(known[k].map((v, j) => v + (at - k) * (known[k + 1][j] - v)));
  });
}

function valueText(column, i) {
  const value = column.values[i];
  if (value === null) return "missing";
  if (column.date) return dateText(value, !Number.isInteger(value));
  return column.kind === "class" ? column.classes[value] : String(value);
}

// A date, given as days since 1970, with or without its time.
function dateText(days, withTime = false) {
  return new Date(days * 86400e3).toISOString().slice(0, withTime ? 16 : 10).replace("T", " ");
}

const isNoise = (column, c) => column.role === "cluster" && column.classes[c] === "-1";

// The name of a class: that of the explanation, if there is one.
function className(column, c) {
  if (isNoise(column, c)) return "noise";
  return column.names?.[c] ?? (column.role === "cluster" ? `cluster ${column.classes[c]}` : column.classes[c]);
}
