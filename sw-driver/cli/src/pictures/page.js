"use strict";
(() => {
  const root = document.documentElement,
    byId = (id) => document.getElementById(id);
  let errors = 0;
  root.dataset.errors = "0";
  const failed = () => {
    errors += 1;
    root.dataset.errors = String(errors);
  };
  window.addEventListener("error", failed);
  window.addEventListener("unhandledrejection", failed);
  document.addEventListener("securitypolicyviolation", failed);

  const data = JSON.parse(byId("data").textContent),
    report = data.report,
    packets = data.packets;
  const ns = (cycles) => (cycles * 1000) / data.clock_mhz;
  const whole = new Intl.NumberFormat("en"),
    number = (value) => whole.format(value);
  const brief = (value, digits = 3) =>
    Number(value.toPrecision(digits)).toLocaleString("en", { maximumFractionDigits: 6 });
  const time = (nanoseconds) =>
    nanoseconds >= 1e6
      ? brief(nanoseconds / 1e6) + " ms"
      : nanoseconds >= 1e3
        ? brief(nanoseconds / 1e3) + " µs"
        : brief(nanoseconds) + " ns";
  const hpuName = (hpu) => Math.floor(hpu / data.hpus_per_cluster) + "." + (hpu % data.hpus_per_cluster);

  // Elements get text as text nodes, never as markup: names and printed text come from the user.
  const element = (tag, properties, ...children) => {
    const made = Object.assign(document.createElement(tag), properties);
    made.append(...children.map((child) => (typeof child === "number" ? String(child) : child)));
    return made;
  };
  const shape = (tag, attributes, ...children) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children);
    return made;
  };
  const words = (x, y, anchor, text) => shape("text", { x, y, "text-anchor": anchor }, text);
  const tip = byId("tip");
  const showTip = (event, text) => {
    tip.textContent = text;
    tip.hidden = false;
    tip.style.left = Math.max(4, Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8)) + "px";
    tip.style.top = Math.max(4, Math.min(event.clientY + 14, innerHeight - tip.offsetHeight - 8)) + "px";
  };
  const hideTip = () => {
    tip.hidden = true;
  };

  // Round values from 0 to most, about count of them.
  const ticks = (most, count) => {
    const raw = most / count,
      power = 10 ** Math.floor(Math.log10(raw || 1));
    const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((value) => value >= raw) || 1;
    const values = [];
    for (let i = 0; i * step <= most * 1.0001; i += 1) values.push(Number((i * step).toPrecision(12)));
    return values;
  };
  const charts = [];
  const chart = (id, draw) =>
    charts.push(() => {
      const box = byId(id);
      box.replaceChildren(draw(Math.max(240, box.clientWidth)));
    });
  const series = data.series,
    intervals = series.offered.length,
    width = ns(series.width);
  const span = width * intervals,
    unit = span >= 2e6 ? [1e6, "ms"] : [1e3, "µs"];
  const timeAxis = (svg, x, left, right, y) => {
    const values = ticks(span / unit[0], (right - left) / 90);
    for (const value of values) svg.append(words(x(value * unit[0]), y, "middle", brief(value, 4)));
    svg.append(words(right, y + 16, "end", "time since the first packet, " + unit[1]));
  };

  const gigabits = (bytes) => (bytes * 8) / width;
  const lines = [
    ["offered", "a"],
    ["achieved", "b"],
    ["sent", "c"],
  ];
  byId("load-legend").append(
    ...lines.map(([name, kind]) => element("span", { className: kind }, element("i", {}), name)),
  );
  chart("load", (total) => {
    const height = 230,
      left = 46,
      right = total - 8,
      top = 16,
      bottom = height - 36;
    const most = Math.max(1e-9, ...lines.map(([name]) => Math.max(...series[name].map(gigabits))));
    const x = (t) => left + ((right - left) * t) / span,
      y = (value) => bottom - ((bottom - top) * value) / (most * 1.05);
    const svg = shape("svg", {
      viewBox: `0 0 ${total} ${height}`,
      height,
      role: "img",
      "aria-label": `Offered, achieved and sent load in gigabits per second over ${time(span)}; at most ${brief(most)}`,
    });
    for (const value of ticks(most, 4))
      svg.append(
        shape("line", { class: "grid", x1: left, x2: right, y1: y(value), y2: y(value) }),
        words(left - 6, y(value) + 4, "end", brief(value)),
      );
    svg.append(words(4, 11, "start", "Gbit/s"));
    timeAxis(svg, x, left, right, bottom + 16);
    for (const [name, kind] of lines) {
      const steps = series[name].map(
        (bytes, i) => `${x(i * width).toFixed(1)},${y(gigabits(bytes)).toFixed(1)}H${x((i + 1) * width).toFixed(1)}`,
      );
      const path = "M" + steps.join("L");
      if (kind === "a") svg.append(shape("path", { class: "area a", d: `${path}V${bottom}H${left}Z` }));
      svg.append(shape("path", { class: "line " + kind, d: path }));
    }
    const cursor = shape("line", { class: "cursor", y1: top, y2: bottom, visibility: "hidden" });
    svg.append(cursor);
    svg.addEventListener("pointermove", (event) => {
      const at = (event.clientX - svg.getBoundingClientRect().left - left) / (right - left),
        i = Math.floor(at * intervals);
      if (i < 0 || i >= intervals) return;
      for (const [name, value] of [
        ["x1", x((i + 0.5) * width)],
        ["x2", x((i + 0.5) * width)],
        ["visibility", "visible"],
      ])
        cursor.setAttribute(name, value);
      showTip(
        event,
        `${time(i * width)} to ${time((i + 1) * width)}\n` +
          lines.map(([name]) => `${name} ${brief(gigabits(series[name][i]))} Gbit/s`).join("\n"),
      );
    });
    svg.addEventListener("pointerleave", () => {
      cursor.setAttribute("visibility", "hidden");
      hideTip();
    });
    return svg;
  });

  chart("hpu", (total) => {
    const rows = series.busy.length,
      row = rows > 16 ? 12 : 20,
      left = 46,
      right = total - 48,
      top = 18,
      bottom = top + rows * row,
      height = bottom + 36;
    const x = (t) => left + ((right - left) * t) / span;
    const share = (hpu) => series.busy[hpu].reduce((sum, cycles) => sum + cycles, 0) / (series.width * intervals);
    const svg = shape("svg", {
      viewBox: `0 0 ${total} ${height}`,
      height,
      role: "img",
      "aria-label":
        "Share of busy cycles: " +
        series.busy.map((_, hpu) => `HPU ${hpuName(hpu)} ${brief(100 * share(hpu))} percent`).join(", "),
    });
    svg.append(words(4, 11, "start", "HPU"), words(total - 2, 11, "end", "mean"));
    series.busy.forEach((cycles, hpu) => {
      const y = top + hpu * row;
      svg.append(
        shape("rect", { class: "back", x: left, y, width: right - left, height: row - 2 }),
        words(left - 6, y + row / 2 + 3, "end", hpuName(hpu)),
        words(total - 2, y + row / 2 + 3, "end", (100 * share(hpu)).toFixed(1) + " %"),
      );
      cycles.forEach((busy, i) => {
        if (busy > 0)
          svg.append(
            shape("rect", {
              class: "heat",
              x: x(i * width).toFixed(2),
              y,
              width: ((right - left) / intervals + 0.2).toFixed(2),
              height: row - 2,
              "fill-opacity": (0.12 + (0.88 * busy) / series.width).toFixed(3),
            }),
          );
      });
    });
    timeAxis(svg, x, left, right, bottom + 14);
    svg.addEventListener("pointermove", (event) => {
      const box = svg.getBoundingClientRect(),
        i = Math.floor(((event.clientX - box.left - left) / (right - left)) * intervals),
        hpu = Math.floor((event.clientY - box.top - top) / row);
      if (i < 0 || i >= intervals || !series.busy[hpu]) {
        hideTip();
        return;
      }
      showTip(
        event,
        `HPU ${hpuName(hpu)}: ${((100 * series.busy[hpu][i]) / series.width).toFixed(1)} % busy\n` +
            `${time(i * width)} to ${time((i + 1) * width)}`,
      );
    });
    svg.addEventListener("pointerleave", hideTip);
    return svg;
  });

  data.latencies.forEach((latency, index) => {
    const title = `${latency.stage}`,
      note = `median ${number(latency.median)}, p99 ${number(latency.p99)}, max ${number(latency.max)} cycles`;
    const box = element("div", { id: "stage-" + index });
    byId("latency").append(element("figure", {}, element("figcaption", {}, title, element("span", {}, note)), box));
    chart(box.id, (total) => {
      const height = 120,
        left = 40,
        right = total - 6,
        top = 8,
        bottom = height - 20,
        bars = latency.bars,
        most = Math.max(...bars);
      const end = latency.min + bars.length * latency.width,
        x = (cycles) => left + ((right - left) * (cycles - latency.min)) / (end - latency.min),
        y = (count) => bottom - ((bottom - top) * count) / most;
      const svg = shape("svg", {
        viewBox: `0 0 ${total} ${height}`,
        height,
        role: "img",
        "aria-label": `Histogram of ${title} over ${number(latency.count)} measurements: ${note}`,
      });
      for (const value of ticks(most, 2))
        if (Number.isInteger(value))
          svg.append(
            shape("line", { class: "grid", x1: left, x2: right, y1: y(value), y2: y(value) }),
            words(left - 5, y(value) + 4, "end", number(value)),
          );
      bars.forEach((count, i) => {
        if (count === 0) return;
        const from = x(latency.min + i * latency.width),
          wide = x(latency.min + (i + 1) * latency.width) - from,
          thick = Math.min(Math.max(1, wide - 1), 48);
        svg.append(
          shape("rect", {
            class: "bar",
            x: from + (wide - thick) / 2,
            y: Math.min(y(count), bottom - 1),
            width: thick,
            height: Math.max(1, bottom - y(count)),
          }),
        );
      });
      svg.append(
        shape("line", { class: "axis", x1: left, x2: right, y1: bottom, y2: bottom }),
        words(left, height - 5, "start", number(latency.min)),
        words(right, height - 5, "end", number(latency.max) + " cycles"),
      );
      svg.addEventListener("pointermove", (event) => {
        const i = Math.floor(
          ((event.clientX - svg.getBoundingClientRect().left - left) / (right - left)) * bars.length,
        );
        if (i < 0 || i >= bars.length) {
          hideTip();
          return;
        }
        const from = latency.min + i * latency.width,
          to = Math.min(from + latency.width - 1, latency.max);
        showTip(
          event,
          (from === to
            ? `${number(from)} cycles (${time(ns(from))})`
            : `${number(from)} to ${number(to)} cycles (from ${time(ns(from))})`) +
            `\n${number(bars[i])} of ${number(latency.count)}`,
        );
      });
      svg.addEventListener("pointerleave", hideTip);
      return svg;
    });
  });
  const head = (cells) =>
    element(
      "thead",
      {},
      element("tr", {}, ...cells.map(([text, kind]) => element("th", { className: kind || "", scope: "col" }, text))),
    );
  byId("stages").append(
    head([["stage (cycles)", "text"], ["count"], ["min"], ["median"], ["p99"], ["max"], ["median, ns"]]),
    element(
      "tbody",
      {},
      ...data.latencies.map((latency) =>
        element(
          "tr",
          {},
          element("td", { className: "text" }, latency.stage),
          ...["count", "min", "median", "p99", "max"].map((key) => element("td", {}, number(latency[key]))),
          element("td", {}, brief(ns(latency.median), 6)),
        ),
      ),
    ),
  );

  const dropped = Object.values(report.dropped).reduce((sum, count) => sum + count, 0);
  byId("title").textContent = data.handler;
  byId("subtitle").textContent =
    `Configuration ${data.config} at ${data.clock_mhz} MHz, ${number(report.cycles)} cycles (${time(ns(report.cycles))}); ` +
    `rules: ${data.rules.join(" | ")}; ${report.checked}`;
  byId("footer").textContent = `${data.program}; cycle-accurate simulation of the emitted Verilog.`;
  if (report.inside > 0 || report.interrupted) {
    byId("notice").hidden = false;
    byId("notice").textContent =
      (report.interrupted ? "The run was interrupted. " : "") +
      `${number(report.inside)} packets were still inside the NIC at the end.`;
  }
  const figure = (name, value, small) =>
    byId("figures").append(
      element(
        "div",
        {},
        element("dt", {}, name),
        element("dd", {}, value, ...(small ? [" ", element("small", {}, small)] : [])),
      ),
    );
  figure("frames in", number(report.frames_in));
  figure("frames out", number(report.answered));
  figure("handled", number(report.handled));
  figure("placed", number(report.placed));
  figure("dropped", number(dropped));
  if (report.latency_cycles) {
    figure("median latency", time(ns(report.latency_cycles.median)), number(report.latency_cycles.median) + " cycles");
    figure("p99 latency", time(ns(report.latency_cycles.p99)), number(report.latency_cycles.p99) + " cycles");
  }
  figure("HPU utilisation", (100 * report.hpu_utilisation).toFixed(1) + " %");
  const counted = report.fault_counts
    ? report.fault_counts.reduce((sum, entry) => sum + entry.count, 0)
    : report.faults.length;
  figure("faults", number(counted + report.faults_lost));

  const fateRows = [
    ["handled", report.handled, { fate: "handled" }],
    ["placed", report.placed, { fate: "placed" }],
    ...Object.entries(report.dropped)
      .sort((a, b) => b[1] - a[1])
      .map(([reason, count]) => ["dropped: " + reason, count, { fate: "dropped", reason }]),
    ["still inside", report.inside, { fate: "inside" }],
  ];
  const mostFates = Math.max(1, ...fateRows.map(([, count]) => count));
  for (const [name, count, filter] of fateRows.filter(([, count]) => count > 0)) {
    const bar = element("div", {}),
      button = element("button", { type: "button" }, name);
    bar.style.width = (100 * count) / mostFates + "%";
    button.addEventListener("click", () => {
      setState({ ...filter });
      byId("packets-title").scrollIntoView();
    });
    byId("fates").append(
      element(
        "div",
        { className: filter.fate === "dropped" ? "fate drop" : "fate" },
        button,
        bar,
        element("span", {}, number(count)),
      ),
    );
  }

  if (report.faults.length === 0) byId("faults").append(element("p", { className: "quiet" }, "No handler faulted."));
  else {
    const source = (lines, fault) =>
      lines.length === 0
        ? fault.symbol || "no debug information"
        : lines
            .map(
              (line) =>
                `${line.file}:${line.line}${line.function ? " in " + line.function : ""}${line.text ? "\n    " + line.text : ""}`,
            )
            .join("\n  inlined into ");
    // Faults of one instruction share a row.
    const groups = new Map(),
      several = (values, limit) =>
        values.length > limit ? `${values.slice(0, limit).join(" ")} … (${number(values.length)})` : values.join(" ");
    report.faults.forEach((fault, i) => {
      const key = [fault.cause, fault.context, fault.handler, fault.pc].join(" ");
      if (!groups.has(key)) groups.set(key, { fault, lines: data.fault_lines[i] || [], members: [] });
      groups.get(key).members.push(fault);
    });
    const rows = [...groups.values()].map(({ fault, lines, members }) => {
      const each = (value) => several([...new Set(members.map(value))], 6);
      const row = element(
        "tr",
        {},
        element("td", {}, number(members.length)),
        element("td", { className: "text" }, fault.cause, element("div", { className: "quiet" }, fault.meaning)),
        element("td", { className: "text" }, `${fault.handler} (context ${fault.context})`),
        element("td", { className: "text code" }, source(lines, fault)),
        element("td", { className: "text" }, fault.pc),
        element(
          "td",
          { className: "text wrap" },
          each((member) => member.address),
        ),
        element(
          "td",
          { className: "text wrap" },
          each((member) => member.frame),
        ),
        element(
          "td",
          { className: "text wrap" },
          each((member) => hpuName(member.hpu)),
        ),
      );
      row.dataset.count = members.length;
      return row;
    });
    byId("faults").append(
      element(
        "div",
        { className: "scroll" },
        element(
          "table",
          { id: "fault-table" },
          head([
            ["count"],
            ["cause", "text"],
            ["handler", "text"],
            ["source", "text"],
            ["pc", "text"],
            ["address", "text"],
            ["frame number", "text"],
            ["HPU", "text"],
          ]),
          element("tbody", {}, ...rows),
        ),
      ),
    );
    const unlisted = counted + report.faults_lost - report.faults.length;
    if (unlisted > 0)
      byId("faults").append(
        element("p", { className: "quiet" }, `${number(unlisted)} more faults are counted and not listed.`),
      );
  }
  const prints = report.prints || [],
    printLimit = 2000;
  if (prints.length > 0) {
    byId("prints-card").hidden = false;
    byId("prints").textContent =
      prints
        .slice(0, printLimit)
        .map((line) => `HPU ${line.cluster}.${line.hpu} context ${line.context} frame ${line.frame}: ${line.text}`)
        .join("\n") +
      (prints.length > printLimit ? `\n${number(prints.length - printLimit)} more lines are in the JSON report.` : "");
  }

  // The packet table. Its state is the fragment of the address, so that a view can be linked to.
  const total = packets.number.length,
    none = "–",
    rowsPerPage = 100;
  const optional = (column) => (i) => (packets[column][i] === null ? none : packets[column][i]);
  const columns = [
    ["frame", "frame", (i) => i],
    ["number", "number", (i) => packets.number[i]],
    ["arrival", "arrival, cycle", (i) => packets.arrival[i]],
    ["bytes", "bytes", (i) => packets.bytes[i]],
    ["fate", "fate", (i) => packets.fate[i], true],
    ["reason", "reason", optional("reason"), true],
    ["rule", "rule", optional("rule")],
    ["context", "context", optional("context")],
    ["message", "message", optional("message")],
    ["hpu", "HPU", (i) => packets.hpus[i].map(hpuName).join(" ") || none],
    ["handler", "handler, cycles", (i) => packets.handler_cycles[i]],
    ["latency", "latency, cycles", optional("latency")],
    ["replies", "replies", (i) => packets.replies[i]],
    ["sent", "bytes sent", (i) => packets.bytes_sent[i]],
  ];
  const controls = ["text", "fate", "reason", "rule"],
    columnOf = Object.fromEntries(columns.map((column) => [column[0], column]));
  const options = (id, values, every) =>
    byId(id).append(
      element("option", { value: "" }, every),
      ...values.map(([value, text]) => element("option", { value }, text)),
    );
  const distinct = (id) =>
    [...new Set(Array.from({ length: total }, (_, i) => String(columnOf[id][2](i))))].filter((value) => value !== none);
  options(
    "fate",
    distinct("fate")
      .sort()
      .map((value) => [value, value]),
    "all",
  );
  options(
    "reason",
    distinct("reason")
      .sort()
      .map((value) => [value, value]),
    "all",
  );
  options(
    "rule",
    distinct("rule")
      .sort((a, b) => a - b)
      .map((value) => [value, `${value}: ${data.rules[value] ?? ""}`]),
    "all",
  );
  const headers = columns.map(([id, title, , text]) => {
    const button = element("button", { type: "button" }, title),
      cell = element("th", { scope: "col", className: text ? "text" : "" }, button);
    button.addEventListener("click", () =>
      setState({ ...state, sort: id, dir: state.sort === id && state.dir !== "desc" ? "desc" : "", page: "" }),
    );
    return cell;
  });
  const body = element("tbody", {});
  byId("packets").append(element("thead", {}, element("tr", {}, ...headers)), body);
  let state = {},
    searchable = null;

  const selected = () => {
    const filters = ["fate", "reason", "rule"].filter((id) => state[id]).map((id) => [columnOf[id][2], state[id]]);
    let rows = Array.from({ length: total }, (_, i) => i).filter((i) =>
      filters.every(([value, wanted]) => String(value(i)) === wanted),
    );
    const text = (state.text || "").trim().toLowerCase();
    if (text) {
      searchable ??= Array.from({ length: total }, (_, i) =>
        columns
          .map((column) => column[2](i))
          .join("\n")
          .toLowerCase(),
      );
      rows = rows.filter((i) => searchable[i].includes(text));
    }
    const sort = columnOf[state.sort];
    if (sort) {
      // Absent values come last in either direction.
      const keys = new Map(rows.map((i) => [i, sort[2](i)])),
        direction = state.dir === "desc" ? -1 : 1;
      rows.sort((a, b) => {
        const [x, y] = [keys.get(a), keys.get(b)];
        if (x === y) return a - b;
        if (x === none || y === none) return x === none ? 1 : -1;
        return (x < y ? -1 : 1) * direction;
      });
    }
    return rows;
  };
  const show = () => {
    const rows = selected(),
      pages = Math.max(1, Math.ceil(rows.length / rowsPerPage)),
      page = Math.min(Math.max(1, Number(state.page) || 1), pages);
    body.replaceChildren(
      ...rows.slice((page - 1) * rowsPerPage, page * rowsPerPage).map((i) =>
        element(
          "tr",
          {},
          ...columns.map(([id, , value, text]) => {
            const content = value(i),
              cell = element(
                "td",
                { className: text ? "text" : "" },
                typeof content === "number" && id !== "number" ? number(content) : content,
              );
            if (id === "fate" && content === "dropped") cell.classList.add("dropped");
            return cell;
          }),
        ),
      ),
    );
    headers.forEach((cell, i) => {
      if (columns[i][0] === (state.sort || "frame"))
        cell.setAttribute("aria-sort", state.dir === "desc" ? "descending" : "ascending");
      else cell.removeAttribute("aria-sort");
    });
    byId("count").textContent = `${number(rows.length)} of ${number(total)} packets`;
    byId("page").textContent = `page ${number(page)} of ${number(pages)}`;
    byId("previous").disabled = page <= 1;
    byId("next").disabled = page >= pages;
    byId("previous").onclick = () => setState({ ...state, page: String(page - 1) });
    byId("next").onclick = () => setState({ ...state, page: String(page + 1) });
    for (const id of controls) if (byId(id).value !== (state[id] || "")) byId(id).value = state[id] || "";
    Object.assign(root.dataset, { shown: rows.length, first: rows.length > 0 ? rows[0] : "", page });
  };
  const setState = (next) => {
    state = Object.fromEntries(Object.entries(next).filter(([, value]) => value));
    const fragment = new URLSearchParams(state).toString();
    try {
      history.replaceState(null, "", "#" + fragment);
    } catch {
      /* A sandboxed frame has no history; the view changes all the same. */
    }
    show();
  };
  const readFragment = () => {
    state = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
    if (state.theme === "dark" || state.theme === "light") root.dataset.theme = state.theme;
    show();
  };
  window.addEventListener("hashchange", readFragment);
  let typing = 0;
  byId("text").addEventListener("input", () => {
    clearTimeout(typing);
    typing = setTimeout(() => setState({ ...state, text: byId("text").value, page: "" }), 120);
  });
  for (const id of ["fate", "reason", "rule"])
    byId(id).addEventListener("change", () => setState({ ...state, [id]: byId(id).value, page: "" }));
  byId("filters").addEventListener("submit", (event) => event.preventDefault());
  byId("filters").addEventListener("reset", (event) => {
    event.preventDefault();
    setState({});
  });
  byId("theme").addEventListener("click", () => {
    const dark = root.dataset.theme
      ? root.dataset.theme === "dark"
      : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });

  const drawAll = () => charts.forEach((draw) => draw());
  let drawn = innerWidth;
  window.addEventListener("resize", () => {
    if (innerWidth !== drawn) {
      drawn = innerWidth;
      drawAll();
    }
  });
  window.addEventListener("beforeprint", drawAll);
  window.addEventListener("afterprint", drawAll);
  drawAll();
  readFragment();
  root.dataset.resources = String(performance.getEntriesByType("resource").length);
  root.dataset.ready = "true";
})();
