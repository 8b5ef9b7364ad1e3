"use strict";
// Small multiples of the same points. Drawing, picking, zoom and lasso are regl-scatterplot's.

class Panels {
  constructor(root, { onSelect, onHover, onClear, onView }) {
    Object.assign(this, { root, onSelect, onHover, onClear, onView, panels: [], mode: "panZoom" });
    this.renderer = newRenderer();
    addEventListener("resize", () => this.interactive && this.fitRenderer());
  }

  // All panels are drawn on one canvas of the library, which has the size of the window: it must hold the largest panel.
  fitRenderer() {
    const boxes = this.panels.map(({ plot }) => plot.getBoundingClientRect());
    const [width, height] = ["width", "height"].map((side) => Math.max(100, ...boxes.map((box) => box[side])));
    const { canvas } = this.renderer;
    if (canvas.width < width * devicePixelRatio || canvas.height < height * devicePixelRatio) {
      this.renderer.resize(Math.max(width, canvas.width / devicePixelRatio), Math.max(height, canvas.height / devicePixelRatio));
    }
  }

  get interactive() {
    return this.renderer !== null;
  }

  show(views, n) {
    this.clear();
    this.n = n;
    this.panels = views.map((view, index) => this.add(view, index));
  }

  add({ name, about, axes }, index) {
    const figure = element("figure", { className: "panel" });
    const caption = element("figcaption");
    caption.append(element("span", { textContent: about ? `${name}: ${about}` : name }), element("span", { className: "beyond" }));
    const plot = element("div", { className: "plot", tabIndex: 0 });
    plot.setAttribute("role", "group");
    plot.setAttribute("aria-label", `${name}: scatter of ${this.n} points; arrow keys move, Enter shows neighbours`);
    const canvas = element("canvas");
    plot.append(canvas, ...axisNames(axes));
    figure.append(caption, plot);
    this.root.append(figure);
    const panel = { name, index, figure, plot, canvas, cursor: -1, selected: [] };
    if (this.interactive) this.connect(panel);
    plot.addEventListener("keydown", (event) => this.key(panel, event));
    plot.addEventListener("blur", () => this.onHover(null));
    return panel;
  }

  connect(panel) {
    const { width, height } = panel.plot.getBoundingClientRect();
    panel.scatter = reglScatterplot.createScatterplot({
      renderer: this.renderer,
      canvas: panel.canvas,
      width,
      height,
      mouseMode: this.mode,
      colorBy: "valueA",
      opacityInactiveScale: 0.25,
      pointSizeSelected: 3,
      pointOutlineWidth: 1,
      lassoMinDelay: 0,
      spatialIndexUseWorker: false,
      backgroundColor: [0, 0, 0, 0],
    });
    panel.scatter.subscribe("select", ({ points }) => this.onSelect(panel.index, Array.from(points)));
    panel.scatter.subscribe("deselect", () => this.onClear());
    panel.scatter.subscribe("pointOver", (i) => this.onHover(i, panel));
    panel.scatter.subscribe("pointOut", () => this.onHover(null));
    panel.scatter.subscribe("view", () => this.onView(panel));
    panel.observer = new ResizeObserver(() => {
      const box = panel.plot.getBoundingClientRect();
      if (!box.width) return;
      this.fitRenderer();
      panel.scatter.set({ width: box.width, height: box.height });
      this.onView(panel);
    });
    panel.observer.observe(panel.plot);
    // Without a click first the wheel belongs to the page.
    const owns = () => panel.plot.contains(document.activeElement);
    panel.plot.addEventListener("wheel", (event) => event.ctrlKey || owns() || event.stopPropagation(), { capture: true });
    panel.canvas.addEventListener("mousedown", () => panel.plot.focus({ preventScroll: true }));
    fingersAsMouse(panel.canvas, () => this.mode === "lasso");
  }

  // Draw one station: `planes` are the places, `coloring` the colours. The library refuses a call while another one
  // runs: then the latest one waits, and the others are left out.
  draw(job) {
    this.next = job;
    this.running ??= this.drawAll().finally(() => (this.running = null));
    return this.running;
  }

  async drawAll() {
    while (this.next) {
      const job = this.next;
      this.next = null;
      if (job.chapter !== this.chapter) this.show(job.views, job.chapter.n);
      this.chapter = job.chapter;
      await this.drawOne(job);
    }
  }

  async drawOne({ views, planes, coloring, animate }) {
    const valueA = coloring.values ? Float32Array.from(coloring.values) : new Float32Array(this.n);
    await Promise.all(
      this.panels.map((panel, i) => {
        panel.plane = planes[i];
        panel.figure.querySelector(".beyond").textContent = views[i].beyond ? `${views[i].beyond} far out, at the edge` : "";
        if (!this.interactive) return this.paint(panel, coloring);
        const size = this.n > 5000 ? 2.5 : this.n > 1500 ? 3.5 : 5;
        panel.scatter.set({ ...this.colors(coloring), pointSize: size, opacity: this.n > 5000 ? 0.6 : 0.8 });
        const options = { transition: animate, transitionDuration: 450, zDataType: coloring.type, preventFilterReset: true };
        return panel.scatter.draw({ ...planes[i], valueA }, options);
      }),
    );
    this.select(this.panels.map((panel) => panel.selected));
  }

  colors({ colors }) {
    const ink = getComputedStyle(document.documentElement).getPropertyValue("--ink").trim();
    const paper = getComputedStyle(document.documentElement).getPropertyValue("--sheet").trim();
    return { pointColor: colors, pointColorActive: colors, pointColorHover: ink, backgroundColor: paper, lassoColor: ink };
  }

  // Highlight points: one list for all panels, or a list of lists, one for each.
  select(lists) {
    this.panels.forEach((panel, i) => {
      panel.selected = Array.isArray(lists[0]) ? (lists[i] ?? []) : lists;
      if (panel.scatter && panel.plane) {
        if (panel.selected.length) panel.scatter.select(panel.selected, { preventEvent: true });
        else panel.scatter.deselect({ preventEvent: true });
      }
      const shown = panel.scatter ? panel.scatter.get("selectedPoints") : panel.selected;
      panel.figure.dataset.selected = String(shown.length);
      if (!panel.scatter && panel.plane) this.paint(panel, panel.coloring);
    });
  }

  setMode(mode) {
    this.mode = mode;
    this.root.classList.toggle("lasso", mode === "lasso");
    for (const { scatter } of this.panels) scatter?.set({ mouseMode: mode });
  }

  zoom(how, only) {
    for (const { scatter } of only ? [only] : this.panels) {
      if (!scatter) continue;
      if (how === "all") scatter.zoomToOrigin({ transition: false });
      else {
        const distance = scatter.get("cameraDistance") * (how === "in" ? 1 / 1.5 : 1.5);
        scatter.zoomToLocation(scatter.get("cameraTarget"), distance, { transition: false });
      }
    }
  }

  key(panel, event) {
    const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
    const zooms = { "+": "in", "=": "in", "-": "out", 0: "all" };
    if (event.key in steps) this.walk(panel, ...steps[event.key]);
    else if (event.key in zooms && !event.ctrlKey && !event.metaKey) this.zoom(zooms[event.key], panel);
    else if (event.key === "Enter" && panel.cursor >= 0) this.onSelect(panel.index, [panel.cursor]);
    else return;
    event.preventDefault();
  }

  // Go to the nearest point within 45 degrees of a direction; the first key takes the point nearest to the middle.
  walk(panel, dx, dy) {
    const { x, y } = panel.plane;
    const from = panel.cursor < 0 ? [0, 0] : [x[panel.cursor], y[panel.cursor]];
    let [best, least] = [-1, Infinity];
    for (let i = 0; i < x.length; i++) {
      const [u, v] = [x[i] - from[0], y[i] - from[1]];
      const along = u * dx + v * dy;
      const across = Math.abs(u * dy) + Math.abs(v * dx);
      const ahead = panel.cursor < 0 || (i !== panel.cursor && along > 0 && across <= along);
      if (ahead && u * u + v * v < least) [best, least] = [i, u * u + v * v];
    }
    if (best < 0) return;
    panel.cursor = best;
    panel.scatter?.hover(best, { preventEvent: true });
    this.onHover(best, panel);
  }

  // Position of a point in its panel, in pixels.
  position(panel, i) {
    const { width, height } = panel.plot.getBoundingClientRect();
    const { x, y } = panel.plane;
    return panel.scatter?.getScreenPosition(i) ?? [((x[i] + 1) / 2) * width, ((1 - y[i]) / 2) * height];
  }

  // Position of a point on the screen.
  place(panel, i) {
    const { left, top } = panel.plot.getBoundingClientRect();
    const [x, y] = this.position(panel, i);
    return [left + x, top + y];
  }

  // A static image for machines without WebGL; selection works by class, by row and by key.
  paint(panel, coloring) {
    panel.coloring = coloring;
    const { width, height } = panel.plot.getBoundingClientRect();
    Object.assign(panel.canvas, { width: width * devicePixelRatio, height: height * devicePixelRatio });
    const pen = panel.canvas.getContext("2d");
    const chosen = new Set(panel.selected);
    const radius = (this.n > 3000 ? 1.2 : 2) * devicePixelRatio;
    for (const top of chosen.size ? [false, true] : [true]) {
      for (let i = 0; i < this.n; i++) {
        if (chosen.size && chosen.has(i) !== top) continue;
        const value = coloring.values ? coloring.values[i] : 0;
        pen.fillStyle = coloring.colors[coloring.type === "continuous" ? Math.round(value * 63) : value];
        pen.globalAlpha = top ? 0.85 : 0.2;
        const [px, py] = [(panel.plane.x[i] + 1) / 2, (1 - panel.plane.y[i]) / 2];
        pen.beginPath();
        pen.arc(px * panel.canvas.width, py * panel.canvas.height, chosen.size && top ? 1.6 * radius : radius, 0, 7);
        pen.fill();
      }
    }
  }

  clear() {
    for (const { scatter, observer } of this.panels) {
      observer?.disconnect();
      scatter?.destroy();
    }
    this.root.replaceChildren();
    this.panels = [];
  }
}

// What the ends of the two axes of a panel mean.
function axisNames(axes) {
  const [across, down] = axes.length === 2 ? axes : [axes[0], null];
  const ends = [
    ["left", across && `← ${across[0]}`],
    ["right", across && `${across[1]} →`],
    ["bottom", down && `↓ ${down[0]}`],
    ["top", down && `↑ ${down[1]}`],
  ];
  return ends.filter(([, text]) => text).map(([side, text]) => element("span", { className: `end ${side}`, textContent: text, title: text }));
}

// One renderer for all panels, or null if the machine has no WebGL.
function newRenderer() {
  const probe = document.createElement("canvas").getContext("webgl");
  if (!probe || !probe.getExtension("OES_texture_float")) return null;
  probe.getExtension("WEBGL_lose_context")?.loseContext();
  const renderer = reglScatterplot.createRenderer();
  return renderer.isSupported ? renderer : null;
}

// The library listens to a mouse: one finger becomes one while the lasso is on.
function fingersAsMouse(canvas, isOn) {
  const send = (kind, target) => (event) => {
    if (!isOn() || event.changedTouches.length !== 1) return;
    event.preventDefault();
    const { clientX, clientY } = event.changedTouches[0];
    const options = { clientX, clientY, bubbles: true, button: 0, buttons: kind === "mouseup" ? 0 : 1 };
    if (kind === "mousedown") canvas.dispatchEvent(new MouseEvent("mouseenter", options));
    (target ?? canvas).dispatchEvent(new MouseEvent(kind, options));
  };
  canvas.addEventListener("touchstart", send("mousedown"), { passive: false });
  canvas.addEventListener("touchmove", send("mousemove", window), { passive: false });
  canvas.addEventListener("touchend", send("mouseup", window), { passive: false });
}

function element(tag, properties = {}, ...children) {
  const node = Object.assign(document.createElement(tag), properties);
  node.append(...children);
  return node;
}
