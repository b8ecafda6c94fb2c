"use strict";
// The page of a report: sorts its tables and draws its charts from the JSON beside it. No request is made.
(() => {
  const report = JSON.parse(document.getElementById("report").textContent);
  const learners = report.learners;
  const one = report.one; // "an example", or what is counted instead
  const DASHES = [[], [9, 4], [2, 3], [9, 3, 2, 3]];
  const RUNAWAY = 30; // a curve that ends so many times above the middle one does not set the scale
  const SETTLED = 10; // examples after which the curves of a longer stream set the scale
  const drawn = new Set(); // functions that draw a chart again

  const byId = (id) => document.getElementById(id);
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const color = (i) => css(`--c${i}`);
  const last = (values) => values.findLast((v) => v != null);
  const positive = (values) => values.map((v) => (v > 0 ? v : null));
  // Below 0 a log axis shows nothing: a chart that is mostly there has a linear one.
  const mostlyPositive = (lines) => {
    const values = lines.filter((line) => line.show !== false).flatMap((line) => line.values.filter((v) => v != null));
    return values.filter((v) => v > 0).length > 0.6 * values.length;
  };

  function short(v) {
    if (v == null) return "-";
    const a = Math.abs(v);
    if (a !== 0 && (a < 1e-3 || a >= 1e15)) return v.toExponential(1).replace(/\.?0?e\+?/, "e");
    for (const [unit, letter] of [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]])
      if (a >= unit) return String(+(v / unit).toPrecision(3)) + letter;
    return String(+v.toPrecision(3));
  }
  function full(v) {
    if (v == null) return "-";
    const a = Math.abs(v);
    if (a >= 1e9 || (a !== 0 && a < 1e-4)) return v.toExponential(3).replace(/\.?0*e\+?/, "e");
    return v.toLocaleString("en", a >= 1e3 ? { maximumFractionDigits: 0 } : { maximumSignificantDigits: 4 });
  }
  const percent = (v) => (v == null ? "-" : `${+(100 * v).toPrecision(3)} %`);

  function logTicks(low, high) {
    const ticks = [];
    const decades = Math.log10(high / low);
    if (decades < 0.6) { // too little for powers of ten: equal steps
      const rough = (high - low) / 5;
      const unit = 10 ** Math.floor(Math.log10(rough));
      const step = unit * [1, 2, 5, 10].find((s) => s * unit >= rough);
      for (let k = Math.ceil(low / step); k * step <= high; k++) ticks.push(k * step);
      return ticks;
    }
    const steps = decades < 1.2 ? [1, 2, 3, 4, 5, 7] : decades < 3 ? [1, 2, 5] : [1];
    const stride = Math.max(1, Math.ceil(decades / 7));
    for (let e = Math.floor(Math.log10(low)); e <= Math.ceil(Math.log10(high)); e++)
      for (const s of steps) {
        const v = s * 10 ** e;
        if (v >= low * 0.999 && v <= high * 1.001 && e % stride === 0) ticks.push(v);
      }
    return ticks;
  }

  // The extent of what is shown, without curves that end far away from the others, and without the first examples of learning
  // curves: they would press the others flat.
  function extent(u, min, max, learning, all) {
    const end = (values) => Math.abs(last(values) ?? 0);
    const shown = u.data.slice(1).filter((values, i) => u.series[i + 1].show);
    const middle = shown.map(end).sort((a, b) => a - b)[shown.length >> 1];
    const kept = middle && !all ? shown.filter((values) => end(values) <= RUNAWAY * middle) : shown;
    const { min: from, max: to } = u.series[0]; // the scale itself is set after this
    const begin = learning && to >= SETTLED ** 2 ? Math.max(from, SETTLED) : from;
    const values = kept.flatMap((line) => line.filter((v, i) => v != null && u.data[0][i] >= begin && u.data[0][i] <= to));
    return values.length ? [Math.min(...values), Math.max(...values)] : [min, max];
  }

  function yRange(spec) {
    return (u, min, max) => {
      if (min == null || max == null) return spec.ylog ? [0.1, 1] : [0, 1];
      const [least, high] = extent(u, min, max, spec.learning, spec.all);
      if (spec.ylog) return [least / 1.15, high * 1.15];
      const low = spec.tight ? least : Math.min(0, least);
      const pad = 0.04 * (high - low) || 1;
      return [low === 0 ? 0 : low - pad, high + pad];
    };
  }

  function axis(label, log, form, size) {
    const found = { label, size, labelSize: 18, labelGap: 0, stroke: css("--soft"), font: "12px system-ui, sans-serif", labelFont: "12px system-ui, sans-serif" };
    found.grid = { stroke: css("--line"), width: 1 };
    found.ticks = { stroke: css("--line"), width: 1, size: 5 };
    found.values = (u, ticks) => ticks.map(form);
    if (log) {
      found.splits = (u, i, low, high) => logTicks(low, high);
      found.filter = (u, ticks) => ticks;
    }
    return found;
  }

  // Vertical lines: {at, color, dash, series}; one that belongs to a series is drawn while that is shown.
  function drawMarks(u, marks) {
    const ctx = u.ctx;
    ctx.save();
    for (const mark of marks) {
      if (mark.series && !u.series[mark.series].show) continue;
      const x = u.valToPos(mark.at, "x", true);
      if (x < u.bbox.left || x > u.bbox.left + u.bbox.width) continue;
      ctx.strokeStyle = ctx.fillStyle = mark.color;
      ctx.lineWidth = (mark.series ? 1 : 6) * devicePixelRatio;
      ctx.globalAlpha = mark.series ? 1 : 0.4;
      ctx.setLineDash(mark.series ? [3 * devicePixelRatio, 4 * devicePixelRatio] : []);
      ctx.beginPath();
      ctx.moveTo(x, u.bbox.top);
      ctx.lineTo(x, u.bbox.top + u.bbox.height);
      ctx.stroke();
      if (mark.series) {
        const size = 5 * devicePixelRatio;
        ctx.beginPath();
        ctx.moveTo(x - size, u.bbox.top);
        ctx.lineTo(x + size, u.bbox.top);
        ctx.lineTo(x, u.bbox.top + 1.6 * size);
        ctx.fill();
      }
    }
    ctx.restore();
  }

  // spec() gives {x, y: titles; xlog, ylog, tight, learning; form; series: [{label, x, values, color, dash, width, show, chosen, points}], bands, marks}
  function chart(box, spec) {
    let plot = null;
    const hidden = new Map(); // what the reader switched off or on, by label
    function draw() {
      if (plot) {
        plot.series.forEach((s, i) => i && hidden.set(s.label, !s.show));
        plot.destroy();
      }
      const s = spec();
      s.ylog = s.ylog && mostlyPositive(s.series);
      const form = s.form || full;
      const lines = s.series.map((line) => [line.x, s.ylog ? positive(line.values) : line.values]);
      const whole = uPlot.join(s.series.map((line) => [line.x, line.values])); // the legend also tells what a log axis cannot draw
      const options = {
        width: Math.max(260, box.clientWidth),
        height: Math.round(Math.min(360, Math.max(240, 0.55 * box.clientWidth))),
        padding: [12, 14, 0, 0],
        cursor: { drag: { x: true, y: false }, points: { size: 6 } },
        scales: {
          x: { time: false, distr: s.xlog ? 3 : 1, range: (u, min, max) => [min, max > min ? max : min + 1] },
          y: { distr: s.ylog ? 3 : 1, range: yRange(s) },
        },
        axes: [axis(s.x, s.xlog, short, 32), axis(s.y, s.ylog, s.form || short, 56)],
        legend: { markers: { dash: (u, i) => ["solid", "dashed", "dotted", "dashed"][DASHES.indexOf(s.series[i - 1].dash || DASHES[0])] } },
        bands: s.bands || [],
        series: [{ label: s.x, value: (u, v, i, at) => full(at == null ? last(u.data[0]) : v) }],
        hooks: { draw: s.marks ? [(u) => drawMarks(u, s.marks)] : [] },
      };
      for (const line of s.series) {
        const off = !line.chosen && (hidden.has(line.label) ? hidden.get(line.label) : line.show === false);
        options.series.push({
          label: line.label, stroke: line.color, width: line.width || 2, dash: line.dash || [], show: !off,
          points: { show: !!line.points, size: 7 }, value: (u, v, i, at) => form(at == null ? last(whole[i]) : whole[i][at]),
        });
      }
      plot = new uPlot(options, uPlot.join(lines), box);
    }
    drawn.add(draw);
    draw();
    return draw;
  }

  // Buttons of which one is pressed; calls back with its key.
  function choice(box, options, now, then) {
    const buttons = options.map(([key, text]) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = text;
      button.onclick = () => press(key);
      button.dataset.key = key;
      box.append(button);
      return button;
    });
    const mark = (key) => buttons.forEach((b) => b.setAttribute("aria-pressed", b.dataset.key === key));
    const press = (key) => {
      mark(key);
      then(key);
    };
    mark(now);
    return mark;
  }

  function selector(id, found, then) {
    const select = byId(id);
    for (const i of found) select.append(new Option(learners[i].label, i));
    const start = found.find((i) => learners[i].label === report.winner) ?? found[0];
    select.value = start;
    select.onchange = () => then(+select.value);
    return start;
  }
  const having = (test) => learners.map((l, i) => i).filter((i) => test(learners[i]));

  function sortable(table) {
    table.querySelectorAll("thead button").forEach((button) => {
      button.onclick = () => {
        const th = button.closest("th");
        const up = th.getAttribute("aria-sort") !== "ascending";
        const value = (row) => row.cells[th.cellIndex].dataset.value;
        const body = table.tBodies[0];
        const compare = (a, b) => {
          const [p, q] = [value(a), value(b)];
          if (p === "" || q === "") return (p === "") - (q === ""); // no figure stands last
          const order = isNaN(p) || isNaN(q) ? p.localeCompare(q) : p - q;
          return up ? order : -order;
        };
        table.querySelectorAll("th").forEach((other) => other.removeAttribute("aria-sort"));
        th.setAttribute("aria-sort", up ? "ascending" : "descending");
        body.append(...[...body.rows].sort(compare));
      };
    });
  }

  function curves() {
    let what = report.measures[0].key;
    let xlog = !report.linear;
    let ylog = report.measures[0].log;
    const draw = chart(byId("curve-chart"), () => {
      const measure = report.measures.find((m) => m.key === what);
      const series = [];
      const marks = (report.data.true_drifts || []).map((at) => ({ at, color: css("--soft") }));
      learners.forEach((l, i) => {
        if (!l.curve[what]) return;
        const best = l.label === report.winner;
        series.push({ label: l.label, x: l.curve.examples, values: l.curve[what], color: color(i), dash: DASHES[i % 4], width: best ? 3 : 1.75, show: best || i < report.shown });
        for (const at of l.drifts) marks.push({ at, color: color(i), series: series.length });
      });
      report.baselines.forEach((b, i) => {
        if (b.curve[what]) series.push({ label: b.label, x: b.curve.examples, values: b.curve[what], color: color(learners.length + i), dash: DASHES[2 + (i % 2)], width: 1.25 });
      });
      return { x: report.unit, y: measure.title, xlog, ylog, learning: !report.linear, all: report.linear, form: measure.percent ? percent : null, series, marks };
    });
    choice(byId("curve-what"), report.measures.map((m) => [m.key, m.title]), what, (key) => {
      what = key;
      const log = report.measures.find((m) => m.key === what).log;
      if (report.linear) (ylog = log), pressY(log ? "log" : "linear");
      draw();
    });
    choice(byId("curve-x"), [["log", "log x"], ["linear", "linear x"]], xlog ? "log" : "linear", (key) => ((xlog = key === "log"), draw()));
    const pressY = choice(byId("curve-y"), [["linear", "linear y"], ["log", "log y"]], ylog ? "log" : "linear", (key) => ((ylog = key === "log"), draw()));
  }

  const divided = (values, by) => values.map((v, i) => (v == null ? null : v / by[i]));

  function regret() {
    const found = having((l) => l.regret && l.regret.curve);
    let who = selector("regret-who", found, (i) => {
      who = i;
      show();
      redraw.forEach((draw) => draw());
    });
    let each = !report.signed;
    let log = !report.signed;
    const curve = () => learners[who].regret.curve;
    const about = () => learners[who].regret.bound_measures || "regret";
    const bounded = () => learners[who].regret.bound != null && !!curve().bound;
    const line = (label, values, i, more) => ({ label, x: curve().examples, values, color: color(i), width: 2.5, ...more });
    const band = { series: [1, 2], fill: () => css("--band") };

    const redraw = [
      chart(byId("regret-loss"), () => ({
        x: report.unit, y: learners[who].regret.title, bands: [band, { ...band, series: [2, 1] }],
        series: [line("learner", curve().cumulative, 0), line(learners[who].regret.best, curve().comparator, 2, { dash: DASHES[1] })],
      })),
      chart(byId("regret-bound"), () => {
        const c = curve();
        const scaled = (values) => (each ? divided(values, c.examples) : values);
        const series = [line("regret", scaled(c.regret), 0)];
        if (about() === "regret" && bounded()) series.push(line("theorem's bound", scaled(c.bound), 1, { dash: DASHES[1] }));
        return { x: report.unit, y: each ? `regret ${one}` : "regret", xlog: log, ylog: log, series };
      }),
    ];
    if (byId("regret-measured"))
      redraw.push(
        chart(byId("regret-measured"), () => {
          const c = curve();
          const name = about().replaceAll("_", " ");
          return {
            x: report.unit, y: name, xlog: log, ylog: log,
            series: [line(name, c.measured || [], 0), line("theorem's bound", c.bound || [], 1, { dash: DASHES[1] })],
          };
        }),
      );
    if (byId("regret-all"))
      redraw.push(
        chart(byId("regret-all"), () => ({
          x: report.unit, y: `regret ${one}`, xlog: log, ylog: log,
          series: found.map((i, n) => {
            const c = learners[i].regret.curve;
            return { label: learners[i].label, x: c.examples, values: divided(c.regret, c.examples), color: color(i), dash: DASHES[i % 4], width: i === who ? 3 : 1.75, chosen: i === who, show: n < report.shown };
          }),
        })),
      );
    function show() {
      document.querySelectorAll("[data-regret]").forEach((box) => (box.hidden = +box.dataset.regret !== who));
      const box = byId("regret-measured");
      if (box) box.closest(".chart").hidden = about() === "regret" || !bounded();
    }
    choice(byId("regret-each"), [["each", one], ["total", "total"]], each ? "each" : "total", (key) => ((each = key === "each"), redraw[1]()));
    choice(byId("regret-log"), [["log", "log axes"], ["linear", "linear axes"]], log ? "log" : "linear", (key) => {
      log = key === "log";
      redraw.forEach((draw) => draw());
    });
    show();
    redraw.forEach((draw) => draw());
  }

  function sweep() {
    const measures = report.sweep.measures;
    let what = measures[0].key;
    const draw = chart(byId("sweep-chart"), () => {
      const measure = measures.find((m) => m.key === what);
      const series = report.sweep.lines.map((l, i) => ({ label: l.label || measure.title, x: l.x, values: l[what], color: color(i), dash: DASHES[i % 4], points: true }));
      return { x: report.sweep.name, y: measure.title, xlog: report.sweep.log, tight: true, form: measure.percent ? percent : null, series };
    });
    choice(byId("sweep-what"), measures.map((m) => [m.key, m.title]), what, (key) => ((what = key), draw()));
  }

  function frontier() {
    const { all, best } = report.sweep.frontier;
    const share = measureOf("error");
    chart(byId("frontier-chart"), () => ({
      x: "non-zero weights",
      y: share ? "error" : "loss",
      xlog: all.x.every((n) => n > 0),
      tight: true,
      form: share ? percent : null,
      series: [
        { label: "not beaten", x: best.x, values: best.y, color: color(0), dash: DASHES[0], points: true },
        { label: "settings", x: all.x, values: all.y, color: color(1), dash: DASHES[1], points: true },
      ],
    }))();
  }

  function reliability() {
    const found = having((l) => l.reliability);
    chart(byId("reliability-chart"), () => ({
      x: "probability",
      y: "share of rows",
      tight: true,
      form: percent,
      series: [
        { label: "as said", x: [0, 1], values: [0, 1], color: css("--soft"), dash: DASHES[2], width: 1.25 },
        ...found.map((i) => ({
          label: learners[i].label, x: learners[i].reliability.x, values: learners[i].reliability.y, color: color(i), dash: DASHES[i % 4],
          width: learners[i].label === report.winner ? 3 : 1.75, show: learners[i].label === report.winner || i < report.shown, points: true,
        })),
      ],
    }));
  }

  function measureOf(key) {
    return report.sweep.measures.find((m) => m.key === key);
  }

  function element(name, text, more) {
    const found = Object.assign(document.createElement(name), more);
    found.textContent = text;
    return found;
  }

  // A long name loses its middle; the title of the cell has all of it.
  const brief = (text, most) => (text.length <= most ? text : `${text.slice(0, Math.ceil((most - 1) / 2))}…${text.slice(-Math.floor((most - 1) / 2))}`);

  function confusion() {
    const found = having((l) => l.confusion);
    const box = byId("confusion-table");
    function draw(i) {
      const { labels, counts, pairs } = learners[i].confusion;
      const table = document.createElement("table");
      if (pairs) {
        table.className = "figures";
        const head = table.createTHead().insertRow();
        for (const text of ["truth", "answer", "count"]) head.append(element("th", text));
        const body = table.createTBody();
        for (const pair of pairs) {
          const row = body.insertRow();
          pair.forEach((cell) => row.append(element("td", typeof cell === "number" ? full(cell) : cell)));
        }
      } else {
        table.className = labels.length > 5 ? "confusion many" : "confusion";
        const head = table.createTHead().insertRow();
        head.append(element("th", ""));
        labels.forEach((label) => head.append(element("th", brief(label, 12), { title: label, scope: "col" })));
        const body = table.createTBody();
        counts.forEach((row, t) => {
          const line = body.insertRow();
          const total = row.reduce((a, b) => a + b, 0);
          line.append(element("th", brief(labels[t], 24), { title: labels[t], scope: "row" }));
          row.forEach((n, a) => {
            const share = total ? n / total : 0;
            const shade = Math.round(100 * (t === a ? share : Math.sqrt(share)));
            const cell = element("td", full(n), { title: `${labels[t]} answered ${labels[a]}: ${percent(share)} of the row` });
            if (n) cell.style.background = `color-mix(in srgb, var(${t === a ? "--c0" : "--c1"}) ${shade}%, var(--ground))`;
            if (shade > 55) cell.className = "strong";
            line.append(cell);
          });
        });
      }
      box.replaceChildren(table);
    }
    draw(selector("confusion-who", found, draw));
  }

  document.querySelectorAll("table.sortable").forEach(sortable);
  if (byId("curve-chart")) curves();
  if (byId("regret-loss")) regret();
  if (byId("sweep-chart")) sweep();
  if (byId("frontier-chart")) frontier();
  if (byId("reliability-chart")) reliability();
  if (byId("confusion-table")) confusion();

  const hintAtWide = () => document.querySelectorAll(".scroll").forEach((box) => box.classList.toggle("wide", box.scrollWidth > box.clientWidth + 1));
  const again = () => {
    drawn.forEach((draw) => draw());
    hintAtWide();
  };
  document.querySelectorAll("details").forEach((fold) => fold.addEventListener("toggle", hintAtWide));
  hintAtWide();
  let width = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth !== width) again();
    width = innerWidth;
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
  const paper = (on) => {
    document.documentElement.classList.toggle("paper", on);
    again();
  };
  addEventListener("beforeprint", () => paper(true));
  addEventListener("afterprint", () => paper(false));
})();
