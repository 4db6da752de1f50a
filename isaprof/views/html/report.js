"use strict";
/* The listing of an isaprof report. Only the rows on the screen exist in the
   page; texts go in as text nodes, never as HTML. No library, no request. */
(() => {
  const root = document.documentElement;
  root.classList.add("scripted");
  const $ = (id) => document.getElementById(id);
  const data = JSON.parse($("data").textContent);
  const ROW = 22, HEAD = 26, SPARE = 12;

  const el = (tag, cls, text) => {
    const e = document.createElement(tag);
    if (cls) e.className = cls;
    if (text !== undefined) e.textContent = text;
    return e;
  };
  const group = (n) => n.toLocaleString("en-US");
  const count = (n) => (n ? group(n) : "");
  const signed = (n) => (n > 0 ? "+" : n < 0 ? "−" : "") + group(Math.abs(n));
  const percent = (s) => (s ? (s < 5 ? "<0.1%" : (s / 100).toFixed(1) + "%") : "");
  const heatColour = (h) => data.heat[Math.min(data.heat.length - 1, Math.floor(h * data.heat.length))];

  /* ---- one capture: columns to look-ups ---- */
  for (const c of data.captures)
    c.text.forEach((t, i) => { if (t >= 0 && typeof t === "number") c.text[i] = c.text[t]; });
  const d0 = data.diff;
  if (d0) {
    const running = (steps) => { let n = 0; return steps.map((s) => (n += s)); };
    const a = running(d0.a), b = running(d0.b);
    let i = 0, j = 0;
    d0.a = d0.has.map((h) => (h & 1 ? a[i++] : -1));
    d0.b = d0.has.map((h) => (h & 2 ? b[j++] : -1));
    const texts = data.captures.map((c) => c.text);
    d0.b.forEach((n, k) => { if (n >= 0 && texts[1][n] === -1) texts[1][n] = texts[0][d0.a[k]]; });
  }
  const captures = data.captures.map((c) => {
    let pc = 0;
    c.pc = c.pc.map((d) => (pc += d));
    const source = new Array(c.pc.length).fill("");
    for (let k = 0; k < c.source.length; k += 2)
      source.fill(c.sources[c.source[k + 1]], c.source[k], c.source[k + 2]);
    c.source = source;
    c.wait = c.stall.map((s, i) => s + c.idle[i]);
    const lost = c.wait.slice();
    for (let k = 0; k < c.lost.length; k += 2) lost[c.lost[k]] = c.lost[k + 1];
    c.lost = lost;
    const held = new Map();
    for (let k = 0; k < c.held.length; k += 2) held.set(c.held[k], c.held[k + 1]);
    c.held = held;
    c.top = Math.max(1, ...c.rank.map((r, i) => (r === 1 ? c.lost[i] : 0)));
    c.ranked = c.rank.map((r, i) => [r, i]).filter((x) => x[0] > 0).sort((x, y) => x[0] - y[0]).map((x) => x[1]);
    c.parts = new Map();
    if (c.split) {
      const n = c.split.names.length;
      for (let k = 0; k < c.split.rows.length; k += n + 1) c.parts.set(c.split.rows[k], c.split.rows.slice(k + 1, k + n + 1));
    }
    c.exposed = c.pc.map((_, i) => (c.parts.get(i) || [0])[0]);
    c.topExposed = Math.max(1, c.split && c.split.ranked.length ? c.exposed[c.split.ranked[0]] : 1);
    c.reasons = new Map();
    for (let k = 0; k < c.why.length; k += 3) put(c.reasons, c.why[k], [c.why[k + 1], c.why[k + 2]]);
    c.cause.forEach((cause, i) => { if (cause >= 0 && c.wait[i] && !c.reasons.has(i)) c.reasons.set(i, [[cause, c.wait[i]]]); });
    c.culprits = new Map();
    c.victims = new Map();
    for (let k = 0; k < c.blame.length; k += 4) {
      const [victim, back, cause, n] = c.blame.slice(k, k + 4), culprit = victim - back;
      put(c.culprits, victim, [culprit, cause, n]);
      put(c.victims, culprit, [victim, cause, n]);
    }
    for (const list of c.victims.values()) list.sort((x, y) => y[2] - x[2]);
    return c;
  });
  function put(map, key, value) {
    const list = map.get(key);
    if (list) list.push(value);
    else map.set(key, [value]);
  }

  /* ---- the views: what a row is, which columns it has ---- */
  let byExposed = false;
  function heatCell(c, i) {
    const cell = el("span", "heat"), fill = el("i");
    const h = byExposed && c.split ? c.exposed[i] / c.topExposed : c.lost[i] / c.top;
    fill.style.width = h > 0 ? Math.max(2, 100 * h) + "%" : "0";
    fill.style.background = heatColour(h);
    cell.append(fill);
    cell.title = c.rank[i] ? "#" + c.rank[i] + " hottest" : "";
    return cell;
  }
  function textCell(text) {
    const cell = el("span", "t"), space = text.indexOf(" ");
    const word = space < 0 ? text : text.slice(0, space);
    if (query && text.toLowerCase().includes(query)) mark(cell, text);
    else cell.append(el("b", "", word), space < 0 ? "" : text.slice(space));
    return cell;
  }
  function mark(cell, text) {
    const low = text.toLowerCase();
    let at = 0, found;
    while ((found = low.indexOf(query, at)) >= 0) {
      cell.append(text.slice(at, found), el("mark", "", text.slice(found, found + query.length)));
      at = found + query.length;
    }
    cell.append(text.slice(at));
  }
  const causeCell = (c, i) => {
    const cell = el("span", "");
    if (c.cause[i] >= 0) {
      const [name, colour] = c.causes[c.cause[i]];
      const dot = el("i");
      dot.style.cssText = "display:inline-block;width:8px;height:8px;border-radius:2px;margin-right:6px";
      dot.style.background = colour;
      cell.append(dot, name);
    }
    return cell;
  };
  /* cycles of the first class, over a bar of all of them */
  function splitCell(c, i) {
    const cell = el("span", "split"), parts = c.parts.get(i);
    if (!parts) return cell;
    const bar = el("span", "stackbar"), total = parts.reduce((a, b) => a + b, 0);
    parts.forEach((n, k) => {
      if (!n) return;
      const piece = el("i");
      piece.style.width = (100 * n) / total + "%";
      piece.style.background = c.split.names[k][1];
      bar.append(piece);
    });
    cell.append(el("span", "r", count(parts[0])), bar);
    cell.title = parts.map((n, k) => c.split.names[k][0] + " " + group(n)).join(", ");
    return cell;
  }
  const num = (key) => ({ sort: (c, i) => c[key][i], cell: (c, i) => el("span", "r", count(c[key][i])) });

  function captureView(c) {
    const columns = [
      { name: "heat", width: "42px", sort: (i) => (byExposed && c.split ? c.exposed[i] : c.lost[i]), cell: (i) => heatCell(c, i) },
      { name: "line", width: "42px", right: 1, program: 1, cell: (i) => el("span", "r", i) },
      { name: "pc", width: "52px", right: 1, cell: (i) => el("span", "r", c.pc[i].toString(16)) },
      { name: "cause", width: "126px", sort: (i) => (c.cause[i] < 0 ? -1 : 100 - c.cause[i]), cell: (i) => causeCell(c, i) },
      ...["hits", "latency", "stall", "idle", "lost"].map((k) => ({
        name: k, width: k === "hits" || k === "idle" ? "50px" : "58px", right: 1, sort: (i) => num(k).sort(c, i), cell: (i) => num(k).cell(c, i),
      })),
      ...(c.split ? [{ name: c.split.names[0][0], width: "84px", sort: (i) => c.exposed[i], cell: (i) => splitCell(c, i) }] : []),
      { name: "share", width: "46px", right: 1, sort: (i) => c.share[i], cell: (i) => el("span", "r", percent(c.share[i])) },
      { name: "instruction", width: "minmax(260px,1fr)", cell: (i) => textCell(c.text[i]) },
    ];
    return {
      columns, n: c.text.length,
      get ranked() { return byExposed && c.split ? c.split.ranked : c.ranked; },
      label: (i) => c.label[i],
      haystack: (i) => c.text[i] + " " + c.pc[i].toString(16) + " " + c.source[i],
      executed: (i) => c.hits[i] > 0,
      causes: (i) => (c.reasons.get(i) || []).map((x) => c.causes[x[0]][0]),
      cls: (i) => (c.hits[i] ? "" : " off"),
      culprit: (i) => (c.culprits.get(i) || [[-1]])[0][0],
      detail: (i) => captureDetail(c, i),
      names: c.causes.map((x) => x[0]),
      find: (line) => line,
    };
  }

  function captureDetail(c, i) {
    const out = [el("h3", "", "Line " + i + (c.rank[i] ? "  ·  #" + c.rank[i] + " hottest" : ""))];
    const code = el("code", "", c.text[i]);
    out.push(code);
    const dl = el("dl");
    const fact = (k, v) => dl.append(el("dt", "", k), el("dd", "", v));
    fact("pc", "0x" + c.pc[i].toString(16));
    if (c.source[i]) fact("source", c.source[i]);
    for (const k of ["hits", "latency", "stall", "idle", "issue", "lost"]) fact(k, group(c[k][i]));
    if (c.held.has(i)) fact("held while it issues", group(c.held.get(i)));
    if (c.cause[i] >= 0) fact("cause", c.causes[c.cause[i]][0]);
    fact("share of wave cycles", percent(c.share[i]) || "0%");
    out.push(dl);
    const parts = c.parts.get(i);
    if (parts) {
      const ul = el("ul");
      parts.forEach((n, k) => {
        const li = el("li", "", c.split.names[k][0] + "  ");
        li.append(el("b", "", group(n)));
        if (n) ul.append(li);
      });
      out.push(el("h4", "", "Of the wait"), ul);
    }
    if (!c.hits[i]) out.push(el("p", "dim", "No traced wave executed this line."));
    const reasons = c.reasons.get(i) || [];
    if (reasons.length) {
      const ul = el("ul");
      for (const [cause, n] of reasons) {
        const li = el("li", "", c.causes[cause][0] + "  ");
        li.append(el("b", "", group(n)), " cycles");
        ul.append(li);
      }
      out.push(el("h4", "", "Waits for"), ul);
    }
    const people = (title, list) => {
      if (!list || !list.length) return;
      const ul = el("ul");
      for (const [line, cause, n] of list.slice(0, 12)) {
        const li = el("li"), a = el("a", "", "line " + line);
        a.href = "#" + c.anchor + line;
        li.append(a, "  ", el("b", "", group(n)), " " + c.causes[cause][0] + " ", el("code", "dim", c.text[line]));
        ul.append(li);
      }
      if (list.length > 12) ul.append(el("li", "dim", list.length - 12 + " more"));
      out.push(el("h4", "", title), ul);
    };
    people("Culprits", c.culprits.get(i));
    people("Lines that wait for this one", c.victims.get(i));
    return out;
  }

  /* ---- two captures, aligned ---- */
  function diffView(d, a, b) {
    const tenth = (n) => (n / 10).toLocaleString("en-US", { minimumFractionDigits: 1, maximumFractionDigits: 1 });
    const change = (n) => (n > 0 ? "+" : n < 0 ? "−" : "") + tenth(Math.abs(n));
    const tone = (n) => (n > 0 ? " up" : n < 0 ? " down" : "");
    const textA = (i) => (d.a[i] >= 0 ? a.text[d.a[i]] : d.names[i] || "");
    const textB = (i) => (d.b[i] >= 0 ? b.text[d.b[i]] : d.names[i] || "");
    const most = Math.max(1, ...d.d.map(Math.abs));
    const css = ["", " chg", " mov", " ins", " del", " off"], signs = ["", "~", "»", "+", "−", "·"];
    const line = (n) => el("span", "r", n >= 0 ? n : "");
    const cycles = (n, there) => el("span", "r", there ? tenth(n) : "");
    const columns = [
      { name: "change", width: "84px", sort: (i) => Math.abs(d.d[i]), cell: (i) => {
        const cell = el("span", "bar"), fill = el("i"), w = (50 * Math.abs(d.d[i])) / most;
        fill.style.width = d.d[i] ? Math.max(1.5, w) + "%" : "0";
        fill.style.left = d.d[i] < 0 ? 50 - Math.max(1.5, w) + "%" : "50%";
        fill.style.background = d.d[i] > 0 ? "var(--bad)" : "var(--good)";
        cell.append(fill);
        return cell;
      } },
      { name: "Δ/wave", width: "76px", right: 1, sort: (i) => d.d[i], cell: (i) => el("span", "r" + tone(d.d[i]), d.d[i] ? change(d.d[i]) : "") },
      { name: "", width: "12px", program: 1, cell: (i) => {
        const cell = el("span", "", signs[d.status[i]]);
        cell.title = d.statuses[d.status[i]];
        return cell;
      } },
      { name: "A", width: "46px", right: 1, cell: (i) => line(d.a[i]) },
      { name: "B", width: "46px", right: 1, cell: (i) => line(d.b[i]) },
      { name: "A/wave", width: "70px", right: 1, sort: (i) => d.ca[i], cell: (i) => cycles(d.ca[i], textA(i)) },
      { name: "B/wave", width: "70px", right: 1, sort: (i) => d.cb[i], cell: (i) => cycles(d.cb[i], textB(i)) },
      { name: "A instruction", width: "minmax(200px,1fr)", cell: (i) => { const t = textCell(textA(i)); t.className = ""; return t; } },
      { name: "B instruction", width: "minmax(200px,1fr)", cell: (i) => { const t = textCell(textB(i)); t.className = ""; return t; } },
    ];
    const name = (c, i) => (i >= 0 && c.cause[i] >= 0 ? c.causes[c.cause[i]][0] : "");
    const causesOf = (c, i) => (i >= 0 ? (c.reasons.get(i) || []).map((x) => c.causes[x[0]][0]) : []);
    const rowOf = [new Map(), new Map()];
    d.a.forEach((n, i) => n >= 0 && rowOf[0].set(n, i));
    d.b.forEach((n, i) => n >= 0 && rowOf[1].set(n, i));
    const hits = (c, i) => (i >= 0 ? c.hits[i] : 0);
    return {
      columns, n: d.a.length, ranked: d.ranked,
      label: () => "",
      haystack: (i) => textA(i) + " " + textB(i),
      executed: (i) => hits(a, d.a[i]) + hits(b, d.b[i]) > 0 || d.status[i] === 5,
      causes: (i) => causesOf(a, d.a[i]).concat(causesOf(b, d.b[i])),
      cls: (i) => css[d.status[i]],
      culprit: () => -1,
      names: [...new Set(a.causes.concat(b.causes).map((x) => x[0]))],
      find: (n, k) => rowOf[k].get(n) ?? 0,
      detail: (i) => {
        const out = [el("h3", "", d.statuses[d.status[i]])];
        const p = el("p");
        p.append(el("b", tone(d.d[i]).trim(), change(d.d[i])), " cycles per wave, ", el("b", "", signed(d.all[i])), " over all waves");
        out.push(p);
        [["A", a, d.a[i]], ["B", b, d.b[i]]].forEach(([tag, c, n]) => {
          out.push(el("h4", "", n >= 0 ? tag + " line " + n : tag));
          if (n < 0) {
            out.push(el("p", "dim", d.names[i] || "no such line"));
            return;
          }
          const dl = el("dl");
          for (const k of ["hits", "latency", "stall", "idle", "issue"]) dl.append(el("dt", "", k), el("dd", "", group(c[k][n])));
          (c.parts.get(n) || []).forEach((x, k) => x && dl.append(el("dt", "", c.split.names[k][0]), el("dd", "", group(x))));
          if (name(c, n)) dl.append(el("dt", "", "cause"), el("dd", "", name(c, n)));
          out.push(el("code", "", c.text[n]), dl);
        });
        return out;
      },
    };
  }

  const views = new Map(captures.map((c, i) => [String(i), captureView(c)]));
  if (data.diff) views.set("diff", diffView(data.diff, captures[0], captures[1]));

  /* ---- the grid ---- */
  const grid = $("grid"), canvas = $("canvas"), head = $("gridhead");
  let view, query = "", cause = "", sort = null, reverse = false, shown = [], at = new Map(), selected = -1, place = 0;
  let pool = [];

  function choose(key) {
    view = views.get(key);
    sort = null;
    reverse = false;
    selected = -1;
    place = 0;
    const list = $("cause");
    list.length = 1;
    for (const name of view.names) list.add(new Option(name, name));
    cause = "";
    const template = view.columns.map((c) => c.width).join(" ");
    head.className = "row";
    head.style.gridTemplateColumns = template;
    head.replaceChildren(...view.columns.map((c) => {
      const cell = el("span", c.right ? "r" : "");
      cell.setAttribute("role", "columnheader");
      const b = el("button", "", c.name);
      b.type = "button";
      b.addEventListener("click", () => sortBy(c));
      cell.append(b);
      return cell;
    }));
    pool.forEach((r) => r.remove());
    pool = [];
    refill();
    grid.setAttribute("aria-colcount", view.columns.length);
    const first = view.ranked.length ? view.ranked[0] : view.n ? 0 : -1;
    if (first >= 0) select(first, false);
    else $("detail").replaceChildren(el("p", "dim", "No lines."));
  }

  function sortBy(column) {
    if (!column.sort) {
      sort = null;
      reverse = false;
    } else if (sort === column) reverse = !reverse;
    else {
      sort = column;
      reverse = false;
    }
    refill();
    grid.scrollTop = 0;
    draw();
  }

  function refill() {
    const executed = $("executed").checked;
    const rows = [];
    for (let i = 0; i < view.n; i++) {
      if (executed && !view.executed(i)) continue;
      if (query && !view.haystack(i).toLowerCase().includes(query)) continue;
      if (cause && !view.causes(i).includes(cause)) continue;
      rows.push(i);
    }
    const found = rows.length;
    if (sort) {
      const key = rows.map((i) => [sort.sort(i), i]);
      key.sort((x, y) => (reverse ? x[0] - y[0] : y[0] - x[0]) || x[1] - y[1]);
      shown = key.map((x) => x[1]);
    } else if (query || cause) shown = rows;
    else {
      shown = [];
      for (const i of rows) {
        if (view.label(i)) shown.push(-1 - i);
        shown.push(i);
      }
    }
    at = new Map(shown.map((r, p) => [r, p]));
    view.columns.forEach((c, k) => {
      const cell = head.children[k], on = sort ? sort === c : c.program;
      if (on) cell.setAttribute("aria-sort", sort && !reverse ? "descending" : "ascending");
      else cell.removeAttribute("aria-sort");
      cell.firstChild.textContent = c.name + (sort && on ? (reverse ? " ▴" : " ▾") : "");
    });
    /* rows of the old order would keep the scroll range long */
    pool.forEach((row) => (row.style.display = "none"));
    canvas.style.height = shown.length * ROW + "px";
    grid.setAttribute("aria-rowcount", shown.length);
    $("count").textContent = found === view.n ? group(view.n) + " lines" : group(found) + " of " + group(view.n) + " lines";
    draw(true);
  }

  let drawn = [-1, -1];
  function draw(force) {
    const first = Math.max(0, Math.floor(grid.scrollTop / ROW) - SPARE);
    const last = Math.min(shown.length, Math.ceil((grid.scrollTop + grid.clientHeight - HEAD) / ROW) + SPARE);
    if (!force && first === drawn[0] && last === drawn[1]) return;
    drawn = [first, last];
    const template = head.style.gridTemplateColumns;
    while (pool.length < last - first) {
      const row = el("div", "row");
      row.setAttribute("role", "row");
      canvas.append(row);
      pool.push(row);
    }
    /* row p lives in element p mod pool length: scrolling rebuilds only what comes in */
    const size = pool.length;
    pool.forEach((row, k) => {
      const p = first + ((((k - first) % size) + size) % size);
      row.hidden = p >= last;
      row.style.display = row.hidden ? "none" : "";
      if (row.hidden) {
        row.place = -1;
        row.id = "";
        return;
      }
      if (!force && row.place === p) return;
      row.place = p;
      const ref = shown[p];
      row.style.top = p * ROW + "px";
      row.style.gridTemplateColumns = ref < 0 ? "1fr" : template;
      row.dataset.ref = ref;
      row.id = "row" + ref;
      row.setAttribute("aria-rowindex", p + 1);
      if (ref < 0) {
        row.className = "row label";
        row.replaceChildren(el("span", "t", view.label(-1 - ref) + ":"));
        return;
      }
      row.className = "row" + view.cls(ref) + (ref === selected ? " sel" : "");
      row.setAttribute("aria-selected", ref === selected);
      const cells = view.columns.map((c) => c.cell(ref));
      cells.forEach((x) => x.setAttribute("role", "gridcell"));
      row.replaceChildren(...cells);
    });
  }

  function select(ref, scroll = true) {
    if (!at.has(ref)) {
      $("search").value = query = "";
      $("cause").value = cause = "";
      $("executed").checked = false;
      refill();
    }
    selected = ref;
    const top = at.get(ref) * ROW, height = grid.clientHeight - HEAD;
    if (scroll && (top < grid.scrollTop || top + ROW > grid.scrollTop + height))
      grid.scrollTop = Math.max(0, top - height / 2);
    else if (!scroll) grid.scrollTop = Math.max(0, top - height / 3);
    draw(true);
    grid.setAttribute("aria-activedescendant", "row" + ref);
    $("detail").replaceChildren(...view.detail(ref));
  }

  function step(n) {
    let p = (at.get(selected) ?? -1) + n;
    p = Math.max(0, Math.min(shown.length - 1, p));
    const dir = n < 0 ? -1 : 1;
    while (shown[p] < 0 && p + dir >= 0 && p + dir < shown.length) p += dir;
    while (shown[p] < 0 && p < shown.length - 1) p++;
    if (shown[p] >= 0) {
      if (p && shown[p - 1] < 0 && n < 0) grid.scrollTop = Math.min(grid.scrollTop, (p - 1) * ROW);
      const ref = shown[p], top = p * ROW, height = grid.clientHeight - HEAD;
      if (top < grid.scrollTop) grid.scrollTop = top;
      else if (top + ROW > grid.scrollTop + height) grid.scrollTop = top + ROW - height;
      select(ref);
    }
  }
  function hottest(n) {
    const next = place + n;
    if (next >= 0 && next < view.ranked.length) select(view.ranked[(place = next)]);
  }
  function culprit() {
    const line = view.culprit(selected);
    if (line >= 0) select(line);
  }

  grid.addEventListener("scroll", () => draw(), { passive: true });
  new ResizeObserver(() => draw(true)).observe(grid);
  canvas.addEventListener("click", (e) => {
    const row = e.target.closest(".row");
    if (row && +row.dataset.ref >= 0) select(+row.dataset.ref);
  });
  const KEYS = {
    ArrowDown: () => step(1), ArrowUp: () => step(-1), PageDown: () => step(20), PageUp: () => step(-20),
    Home: () => step(-1e9), End: () => step(1e9), n: () => hottest(1), N: () => hottest(-1), c: culprit,
    "/": () => $("search").focus(),
  };
  grid.addEventListener("keydown", (e) => {
    if (e.target !== grid || e.ctrlKey || e.metaKey || e.altKey || !KEYS[e.key]) return;
    e.preventDefault();
    KEYS[e.key]();
  });
  $("search").addEventListener("input", (e) => {
    query = e.target.value.trim().toLowerCase();
    refill();
    grid.scrollTop = 0;
    draw(true);
  });
  $("search").addEventListener("keydown", (e) => {
    if (e.key === "Enter" && shown.length) {
      select(shown.find((r) => r >= 0) ?? selected);
      grid.focus();
    }
  });
  $("cause").addEventListener("change", (e) => { cause = e.target.value; refill(); });
  $("executed").addEventListener("change", refill);
  if ($("exposed")) $("exposed").addEventListener("change", (e) => {
    byExposed = e.target.checked;
    place = 0;
    refill();
    if (view.ranked.length) select(view.ranked[0]);
  });
  $("next").addEventListener("click", () => hottest(1));
  $("prev").addEventListener("click", () => hottest(-1));
  const which = $("which");
  if (which) which.addEventListener("change", () => choose(which.value));

  /* links like #L12 (capture A or the only one) and #B12 go to the row */
  function follow() {
    const m = /^#([A-Z])(\d+)$/.exec(location.hash);
    if (!m) return;
    const k = captures.findIndex((c) => c.anchor === m[1]), line = +m[2];
    if (k < 0 || line >= captures[k].text.length) return;
    if (view === views.get("diff")) {
      const row = view.find(line, k);
      select(row);
    } else {
      if (which && which.value !== String(k)) choose((which.value = String(k)));
      select(line);
    }
    $("listing").scrollIntoView();
    grid.focus({ preventScroll: true });
  }
  addEventListener("hashchange", follow);

  $("theme").addEventListener("click", () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    plots();
  });

  /* ---- plotly, only in reports that carry it ---- */
  function plots() {
    const box = $("figures");
    if (!box || typeof Plotly === "undefined") return;
    const style = getComputedStyle(root), ink = style.getPropertyValue("--fg"), line = style.getPropertyValue("--line");
    JSON.parse(box.textContent).forEach((f, i) => {
      const axis = { gridcolor: line, zerolinecolor: line };
      const layout = Object.assign({}, f.layout, { paper_bgcolor: "transparent", plot_bgcolor: "transparent", font: { color: ink } });
      layout.xaxis = Object.assign({}, axis, layout.xaxis);
      layout.yaxis = Object.assign({}, axis, layout.yaxis);
      Plotly.react("plot-" + i, f.data, layout, { responsive: true, displaylogo: false });
    });
  }

  choose(which ? which.value : "0");
  follow();
  plots();
})();
