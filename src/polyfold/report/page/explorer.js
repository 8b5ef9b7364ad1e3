"use strict";
// The page: one chapter at a time, what is selected in it, and what every control does.

const NOTHING = { rows: [], title: "" };
const count = (column) => column.classes.filter((_, c) => !isNoise(column, c)).length;

class Explorer {
  constructor(data) {
    Object.assign(this, { data, step: 0, chosen: NOTHING, reference: null, focus: null, color: -1, level: null });
    this.labels = new Labels();
    this.panels = new Panels(get("views"), {
      onView: (panel) => panel === this.labels.panel && this.labels.arrange(),
      onSelect: (view, points) => this.choose(points, "Selected rows"),
      onHover: (i, panel) => this.hover(i, panel),
      onClear: () => this.clear(),
    });
    if (!this.panels.interactive) {
      say("This browser offers no WebGL, so the plots are static images. Sliders, classes, rows and neighbours work.");
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
    get("compare").onclick = () => this.compare();
    get("names").onchange = () => this.showNames();
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
    const level = chapter.levels.findIndex((one) => one.chosen);
    Object.assign(this, { chosen: NOTHING, reference: null, focus: null, step: chapter.start, color: chapter.color, level: level < 0 ? null : level });
    [...get("tabs").children].forEach((tab, i) => tab.setAttribute("aria-selected", String(i === index)));
    get("main").hidden = false;
    this.introduce();
    this.offerColors();
    get("levels").hidden = !chapter.levels.length;
    Object.assign(get("level"), { max: Math.max(chapter.levels.length - 1, 0), value: Math.max(level, 0) });
    this.nameLevel(Math.max(level, 0));
    get("path").hidden = chapter.steps.length < 2;
    Object.assign(get("slider"), { max: chapter.steps.length - 1, value: this.step });
    showParameters(get("settings"), chapter);
    await readPixels(chapter);
    if (chapter !== this.chapter) return; // another tab was opened meanwhile
    await this.draw(false);
    document.documentElement.dataset.ready = String(index);
  }

  introduce() {
    const { chapter } = this;
    const shown = chapter.total > chapter.n ? `${COUNT.format(chapter.n)} of them are shown, drawn at random.` : "";
    const some = chapter.shown < chapter.parts ? `${chapter.shown} of ${chapter.parts} ${chapter.kind} are shown.` : "";
    get("note").textContent = [chapter.note, shown, some].filter(Boolean).join(" ");
    get("comparison").replaceChildren(...(chapter.table.length ? [table(chapter.table)] : []));
    showAxes(get("axes"), chapter.axes);
    const rules = ["images", "rebuilt"].filter((kind) => chapter[kind]).map((kind) => `.thumb.${kind}{background-image:url(${chapter[kind].url})}`);
    (get("pictures") ?? document.head.appendChild(element("style", { id: "pictures" }))).textContent = rules.join("");
  }

  offerColors() {
    const { columns, levels } = this.chapter;
    const offered = [[-1, "one colour"], ...columns.map((column, i) => [i, column.name])];
    const options = offered
      .filter(([i]) => i < 0 || !(columns[i].role === "cluster" && levels.some(({ chosen }) => chosen)))
      .filter(([i]) => columns[i]?.kind !== "text") // nearly every row would have a colour of its own
      .map(([i, name]) => element("option", { textContent: name, value: i }));
    if (levels.length) options.splice(1, 0, element("option", { textContent: "clusters of the level", value: "level" }));
    get("color").replaceChildren(...options);
    get("color").value = this.level === null ? this.color : "level";
  }

  // Draw the station and everything that depends on it.
  async draw(animate) {
    const { chapter, column } = this;
    const step = chapter.steps[this.step];
    this.coloring = coloring(column);
    get("lambda").textContent = step.diversity === null ? "" : `λ = ${step.diversity}`;
    get("slider").setAttribute("aria-valuetext", `λ = ${step.diversity}`);
    showFigures(get("figures"), chapter, this.step);
    showAllocation(get("shares"), get("allocation"), step);
    showBars(get("bars-title"), get("bars"), step);
    showStations(get("stations"), chapter, this.step);
    this.listClasses();
    this.describe();
    const planes = step.views.map((view) => planeOf(this.data.array(view.points)));
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    await this.panels.draw({ chapter, views: step.views, planes, coloring: this.coloring, animate: animate && !still });
    if (this.panels.chapter !== this.chapter) return; // another tab is about to be drawn
    this.showNames();
    this.highlight();
  }

  listClasses() {
    const { column } = this;
    const isList = column?.kind === "class";
    get("groups").hidden = !column;
    if (!column) return get("legend").replaceChildren();
    get("groups-title").textContent = column.role === "cluster" ? `${count(column)} clusters` : isList ? `${column.name}: ${count(column)} classes` : column.name;
    showClasses(get("legend"), this.chapter, column, this.coloring, (c, more) => this.chooseClass(c, more));
  }

  // Names of the classes on the first plot.
  showNames() {
    const { column } = this;
    const [panel] = this.panels.panels;
    this.labels.clear();
    if (!panel?.plane || column?.kind !== "class" || !get("names").checked) return;
    const { means } = profile(this.chapter, column);
    const groups = column.classes.map((_, c) => ({
      text: className(column, c),
      image: means && imageNode(means[c], this.chapter.images, 28),
      rows: [],
      isNoise: isNoise(column, c),
    }));
    column.values.forEach((code, i) => groups[code].rows.push(i));
    this.labels.show(panel, groups.filter((group) => !group.isNoise), (own, i) => this.panels.position(own, i));
  }

  async goTo(index) {
    this.step = index;
    const { diversity, figures } = this.chapter.steps[index];
    await this.draw(true);
    announce(`λ = ${diversity}: ${figures.map(([name, value]) => `${name} ${NUMBER.format(value)}`).join(", ")}`);
  }

  // Colour all views by the clusters of a level.
  showLevel(index) {
    this.level = index;
    get("level").value = index;
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

  choose(points, title) {
    if (points.length === 1) return this.look(points[0]);
    Object.assign(this, { chosen: { rows: points.sort((a, b) => a - b), title }, focus: null });
    this.refresh(`${points.length} rows selected`);
  }

  chooseClass(code, more) {
    const { values } = this.column;
    const kept = new Set(more ? this.chosen.rows : []);
    const name = className(this.column, code);
    const rows = [...values.keys()].filter((i) => values[i] === code || kept.has(i));
    this.choose(rows, kept.size ? `${this.chosen.title} + ${name}` : name);
  }

  // Keep the selection, to compare the next one with it; pressed again, forget it.
  compare() {
    const { rows, title } = this.chosen;
    if (this.reference) this.reference = null;
    else Object.assign(this, { reference: { rows, title }, chosen: NOTHING });
    this.refresh(this.reference ? `Now select other rows, to compare them with ${title}` : "comparison ended");
  }

  look(i) {
    Object.assign(this, { chosen: NOTHING, focus: i });
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
    if (!this.chosen.rows.length && this.focus === null && !this.reference) return;
    Object.assign(this, { chosen: NOTHING, reference: null, focus: null });
    this.refresh("selection cleared");
  }

  refresh(text) {
    this.describe();
    this.highlight();
    announce(text);
  }

  describe() {
    const { chapter, chosen, reference } = this;
    const show = (i) => this.look(i);
    showSelection(get("selection"), chapter, chosen, reference, this.column, this.coloring.colors, show);
    get("compare").hidden = !chosen.rows.length && !reference;
    get("compare").textContent = reference ? "Stop comparing" : "Compare with another selection";
    for (const button of get("legend").children) button.setAttribute("aria-pressed", String(button.dataset.code !== undefined && this.isChosen(Number(button.dataset.code))));
    const step = chapter.steps[this.step];
    showNeighbors(get("neighbors"), this.data, chapter, step, this.focus, this.column, this.coloring.colors, show);
  }

  // Whether all rows of a class are selected.
  isChosen(code) {
    const { rows } = this.chosen;
    if (!rows.length) return false;
    const { values } = this.column;
    const own = rows.reduce((sum, i) => sum + (values[i] === code), 0);
    return own > 0 && own === values.reduce((sum, value) => sum + (value === code), 0);
  }

  // A selection is the same in all panels; a point comes with the neighbours it has in each of them.
  highlight() {
    if (this.focus === null) return this.panels.select(this.chosen.rows);
    const step = this.chapter.steps[this.step];
    const lists = new Map(neighborsOf(this.data, this.chapter, step, this.focus));
    this.panels.select(step.views.map(({ name }) => [this.focus, ...(lists.get(name) ?? [])]));
  }

  hover(i, panel) {
    get("tip").hidden = i === null;
    if (i === null) return;
    get("tip").replaceChildren(...tip(this.chapter, i, this.column));
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
