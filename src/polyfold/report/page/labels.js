"use strict";
// Names of classes on a panel: the larger ones first, none over another, more of them when zoomed in.

class Labels {
  constructor() {
    this.labels = [];
  }

  // Show names on a panel: `groups` are {text, image, rows}, where the image is a node or missing.
  show(panel, groups, place) {
    this.clear();
    Object.assign(this, { panel, place });
    this.layer = element("div", { className: "labels" });
    this.layer.setAttribute("aria-hidden", "true");
    panel.plot.append(this.layer);
    this.labels = groups
      .filter(({ rows }) => rows.length)
      .sort((a, b) => b.rows.length - a.rows.length)
      .map(({ text, image, rows }) => ({
        node: element("div", {}, image ?? "", element("span", { textContent: text })),
        at: middle(panel.plane, rows),
      }));
    this.layer.append(...this.labels.map(({ node }) => node));
    for (const label of this.labels) [label.width, label.height] = [label.node.offsetWidth, label.node.offsetHeight];
    this.arrange();
  }

  arrange() {
    if (!this.layer) return;
    const { width, height } = this.panel.plot.getBoundingClientRect();
    const taken = [];
    for (const { node, at, width: w, height: h } of this.labels) {
      const [x, y] = this.place(this.panel, at);
      const isInside = x >= 0 && x <= width && y >= 0 && y <= height;
      const left = Math.max(2, Math.min(x - w / 2, width - w - 2));
      const top = Math.max(2, Math.min(y - h / 2, height - h - 2));
      const box = [left, top, left + w, top + h];
      const isFree = isInside && taken.every((other) => box[2] < other[0] || other[2] < box[0] || box[3] < other[1] || other[3] < box[1]);
      node.style.visibility = isFree ? "visible" : "hidden";
      if (!isFree) continue;
      taken.push(box);
      node.style.transform = `translate(${left}px, ${top}px)`;
    }
  }

  clear() {
    this.layer?.remove();
    Object.assign(this, { labels: [], layer: null });
  }
}

// The row nearest to the median of some rows.
function middle({ x, y }, rows) {
  const median = (values) => Float32Array.from(rows, (i) => values[i]).sort()[rows.length >> 1];
  const [u, v] = [median(x), median(y)];
  const away = (i) => (x[i] - u) ** 2 + (y[i] - v) ** 2;
  return rows.reduce((best, i) => (away(i) < away(best) ? i : best), rows[0]);
}
