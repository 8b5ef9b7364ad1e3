"use strict";
// The page: one chapter at a time, what is selected in it, and what every control does.

class Explorer {
  constructor(data) {
    Object.assign(this, { data, step: 0, selection: [], focus: null, color: -1, level: null });
    this.panels = new Panels(get("views"), {
      onSelect: (view, points) => this.choose(points),
      onHover: (i, panel) => this.hover(i, panel),
      onClear: () => this.clear(),
    });
    if (!this.panels.interactive) {
      say("This browser offers no WebGL, so the views are still pictures. The slider, classes, rows and neighbours work.");
    }
    this.bind();
    this.tabs();
    this.open(0);
  }

  get column() {
    return this.level === null ? this.chapter.columns[this.color] : this.chapter.levels[this.level];
  }

  bind() {
    for (const button of document.querySelectorAll("[data-mode]")) button.onclick = () => this.setMode(button.dataset.mode);
    for (const button of document.querySelectorAll("[data-zoom]")) button.onclick = () => this.panels.zoom(button.dataset.zoom);
    get("slider").oninput = (event) => this.goTo(Number(event.target.value));
    get("color").onchange = (event) => (event.target.value === "level" ? this.showLevel(Number(get("level").value)) : this.paint(Number(event.target.value)));
    get("level").oninput = (event) => this.showLevel(Number(event.target.value));
    get("point").onchange = (event) => this.find(event.target);
    get("point").onfocus = (event) => event.target.select();
    get("clear").onclick = () => this.clear();
    get("theme").onclick = () => this.setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
    const dark = matchMedia("(prefers-color-scheme: dark)");
    dark.addEventListener("change", () => this.setTheme(dark.matches ? "dark" : "light"));
    document.addEventListener("keydown", (event) => event.key === "Escape" && this.clear());
    document.addEventListener("mousemove", (event) => (this.mouse = [event.clientX, event.clientY]));
  }

  tabs() {
    const { chapters } = this.data;
    get("tabs").hidden = chapters.length < 2;
    const buttons = chapters.map(({ name }, i) => {
      const button = element("button", { type: "button", textContent: name, onclick: () => this.open(i) });
      button.setAttribute("role", "tab");
      button.setAttribute("aria-controls", "main");
      button.onkeydown = (event) => {
        const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
        if (by) buttons[(i + by + buttons.length) % buttons.length].focus();
      };
      return button;
    });
    get("tabs").replaceChildren(...buttons);
  }

  async open(index) {
    const chapter = (this.chapter = this.data.chapters[index]);
    Object.assign(this, { selection: [], focus: null, step: chapter.start, color: chapter.color, level: null });
    [...get("tabs").children].forEach((tab, i) => tab.setAttribute("aria-selected", String(i === index)));
    get("main").hidden = false;
    this.introduce();
    const names = ["one colour", ...chapter.columns.map((c) => c.name)];
    const options = names.map((name, i) => element("option", { textContent: name, value: i - 1, disabled: chapter.columns[i - 1]?.kind === "text" }));
    const { levels } = chapter;
    if (levels.length) options.push(element("option", { textContent: "level of the slider", value: "level" }));
    get("levels").hidden = !levels.length;
    const chosen = Math.max(levels.findIndex((level) => level.chosen), 0);
    Object.assign(get("level"), { max: Math.max(levels.length - 1, 0), value: chosen });
    this.nameLevel(chosen);
    get("color").replaceChildren(...options);
    get("color").value = this.color;
    get("path").hidden = chapter.steps.length < 2;
    Object.assign(get("slider"), { max: chapter.steps.length - 1, value: this.step });
    this.panels.show(chapter.steps[0].views.map((view) => view.name), chapter.n);
    showParameters(get("settings"), chapter);
    await this.draw(false);
    document.documentElement.dataset.ready = String(index);
  }

  introduce() {
    const { chapter } = this;
    const shown = chapter.total > chapter.n ? `${chapter.n} of ${chapter.total} points, drawn at random.` : `${chapter.n} points.`;
    const some = chapter.shown < chapter.parts ? ` ${chapter.shown} of ${chapter.parts} ${chapter.kind} are shown.` : "";
    get("note").textContent = `${chapter.note} ${shown}${some}`.trim();
    get("comparison").replaceChildren(...(chapter.table.length ? [table(chapter.table)] : []));
    showAxes(get("axes"), chapter.axes);
    const rules = ["images", "rebuilt"].filter((kind) => chapter[kind]).map((kind) => `.thumb.${kind}{background-image:url(${chapter[kind].url})}`);
    (get("pictures") ?? document.head.appendChild(element("style", { id: "pictures" }))).textContent = rules.join("");
  }

  // Draw the station and everything that depends on it.
  async draw(animate) {
    const { chapter } = this;
    const step = chapter.steps[this.step];
    this.coloring = coloring(this.column);
    get("lambda").textContent = step.diversity === null ? "" : `λ = ${step.diversity}`;
    get("slider").setAttribute("aria-valuetext", `λ = ${step.diversity}`);
    showFigures(get("figures"), chapter, this.step);
    showAllocation(get("shares"), get("allocation"), step);
    showBars(get("bars-title"), get("bars"), chapter, step);
    showStations(get("stations"), chapter, this.step);
    showLegend(get("legend"), this.column, this.coloring, (c, more) => this.chooseClass(c, more));
    this.describe();
    const planes = step.views.map((view) => planeOf(this.data.array(view.points)));
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    await this.panels.draw(planes, step.views.map((view) => view.beyond), this.coloring, animate && !still);
    this.highlight();
  }

  async goTo(index) {
    this.step = index;
    await this.draw(true);
    const { diversity, figures } = this.chapter.steps[index];
    announce(`λ = ${diversity}: ${figures.map(([name, value]) => `${name} ${NUMBER.format(value)}`).join(", ")}`);
  }

  // Colour all views by the clusters of a level.
  showLevel(index) {
    this.level = index;
    get("color").value = "level";
    this.nameLevel(index);
    this.draw(false);
    announce(this.column.name);
  }

  nameLevel(index) {
    const name = this.chapter.levels[index]?.name ?? "";
    get("clusters").textContent = name;
    get("level").setAttribute("aria-valuetext", name);
  }

  paint(column) {
    Object.assign(this, { color: column, level: null });
    this.draw(false);
  }

  choose(points) {
    if (points.length === 1) return this.look(points[0]);
    Object.assign(this, { selection: points.sort((a, b) => a - b), focus: null });
    this.refresh(`${points.length} points selected`);
  }

  chooseClass(index, more) {
    const { values } = this.column;
    const kept = more ? this.selection : [];
    const chosen = new Set([...kept, ...values.keys()].filter((i) => values[i] === index || kept.includes(i)));
    this.choose([...chosen]);
  }

  look(i) {
    Object.assign(this, { selection: [], focus: i });
    get("point").value = rowNumber(this.chapter, i);
    this.refresh(`row ${rowNumber(this.chapter, i)} and its neighbours`);
  }

  find(input) {
    const wanted = Number(input.value);
    const i = this.chapter.rows ? this.chapter.rows.indexOf(wanted) : wanted;
    const found = input.value !== "" && Number.isInteger(i) && i >= 0 && i < this.chapter.n;
    input.setCustomValidity(found ? "" : "This row is not among the points shown.");
    if (found) this.look(i);
    else input.reportValidity();
  }

  clear() {
    get("point").value = "";
    if (!this.selection.length && this.focus === null) return;
    Object.assign(this, { selection: [], focus: null });
    this.refresh("selection cleared");
  }

  refresh(text) {
    this.describe();
    this.highlight();
    announce(text);
  }

  describe() {
    const { chapter } = this;
    const show = (i) => this.look(i);
    showSelection(get("selection"), chapter, this.selection, this.column, this.coloring.colors, show);
    const step = chapter.steps[this.step];
    showNeighbors(get("neighbors"), this.data, chapter, step, this.focus, this.column, this.coloring.colors, show);
  }

  // A selection is the same in all panels; a point comes with the neighbours it has in each of them.
  highlight() {
    if (this.focus === null) return this.panels.select(this.selection);
    const step = this.chapter.steps[this.step];
    const lists = new Map(neighborsOf(this.data, this.chapter, step, this.focus));
    this.panels.select(step.views.map(({ name }) => [this.focus, ...(lists.get(name) ?? [])]));
  }

  hover(i, panel) {
    get("tip").hidden = i === null;
    if (i === null) return;
    get("tip").replaceChildren(...tip(this.chapter, i));
    const [x, y] = panel.plot.matches(":hover") && this.mouse ? this.mouse : this.panels.place(panel, i);
    const box = get("tip").getBoundingClientRect();
    get("tip").style.left = `${Math.max(4, Math.min(x + 14, innerWidth - box.width - 8))}px`;
    get("tip").style.top = `${Math.max(4, y + box.height + 20 > innerHeight ? y - box.height - 12 : y + 14)}px`;
  }

  setMode(mode) {
    for (const button of document.querySelectorAll("[data-mode]")) button.setAttribute("aria-pressed", String(button.dataset.mode === mode));
    this.panels.setMode(mode);
  }

  setTheme(theme) {
    document.documentElement.dataset.theme = theme;
    this.draw(false);
  }
}

function get(id) {
  return document.getElementById(id);
}

function say(text) {
  Object.assign(get("message"), { textContent: text, hidden: false });
}

function announce(text) {
  get("live").textContent = text;
}

document.documentElement.dataset.theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
readData()
  .then((data) => (window.explorer = new Explorer(data)))
  .catch((error) => {
    say(error.message);
    throw error;
  });
