"use strict";
(() => {
  const element = (id) => document.getElementById(id);
  const data = JSON.parse(element("profile").textContent);
  const count = data.parents.length;
  const ROW = 18;
  const canvas = element("flames");
  const stage = element("stage");

  // Hue, saturation and the spread of hues of each kind of frame: interpreted,
  // compiled, inlined, native, thread, lock, unknown.
  const PALETTE = [[30, 75, 14], [110, 45, 20], [160, 40, 20], [215, 60, 20], [265, 35, 10], [350, 70, 8], [0, 0, 0]];

  // --- the tree ---------------------------------------------------------

  const children = Array.from({ length: count + 1 }, () => []);
  for (let i = 0; i < count; i++) children[data.parents[i]].push(i + 1);
  const label = (node) => {
    const line = data.lines[node - 1];
    const name = data.names[data.methods[node - 1]];
    return line ? `${name}:${line}` : name;
  };
  const whole = children[0].reduce((sum, node) => sum + data.totals[node - 1], 0);
  const total = (node) => (node === 0 ? whole : data.totals[node - 1]);
  const own = (node) => (node === 0 ? 0 : data.own[node - 1]);
  const parent = (node) => data.parents[node - 1];
  const depth = new Uint16Array(count + 1);
  const left = new Float64Array(count + 1);
  let deepest = 0;
  // Parents come first, and so does their place.
  for (const siblings of children) siblings.sort((a, b) => (label(a) < label(b) ? -1 : label(a) > label(b) ? 1 : a - b));
  for (const [node, siblings] of children.entries()) {
    let at = left[node];
    for (const child of siblings) {
      left[child] = at;
      at += total(child);
      depth[child] = Math.min(depth[node] + 1, 65535);
      deepest = Math.max(deepest, depth[child]);
    }
  }

  // --- words ------------------------------------------------------------

  // As crates/model/src/quantity.rs has it.
  const digits = (value) => {
    if (value >= 999.5) return Math.round(value).toLocaleString("en");
    return value.toFixed(value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2);
  };
  const time = (ns) => {
    for (const [unit, size] of [["s", 1e9], ["ms", 1e6], ["us", 1e3]]) {
      if (ns >= size * 0.9995) return `${digits(ns / size)} ${unit}`;
    }
    return `${ns} ns`;
  };
  const amount = (weight) => (data.unit === "ns" ? time(weight) : `${weight.toLocaleString("en")} samples`);
  const percent = (part, of) => {
    const value = (100 * part) / Math.max(of, 1);
    if (value === 0 || value >= 99.9999) return `${value.toFixed(0)} %`;
    if (value < 0.1) return "< 0.1 %";
    if (value >= 99.5) return "> 99 %";
    return `${value.toFixed(value < 9.95 ? 1 : 0)} %`;
  };

  // --- what is shown ----------------------------------------------------

  let focus = 0;
  let selected = 0;
  let upsideDown = false;
  let pattern = null;
  let boxes = [];
  const matches = data.names.map(() => false);

  const dark = () => {
    const chosen = document.documentElement.dataset.theme;
    return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  };
  const hash = (text) => {
    let h = 2166136261;
    for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 16777619);
    return ((h >>> 0) % 1000) / 1000;
  };
  // Methods of one package look alike.
  const shade = data.names.map((name) => hash(name.slice(0, Math.max(name.lastIndexOf("."), 0)) || name));
  const colour = (node) => {
    const night = dark();
    if (data.before) {
      const change = (total(node) - data.before[node - 1]) / Math.max(total(node), data.before[node - 1], 1);
      const strength = Math.min(Math.abs(change), 1);
      const lightness = night ? 28 + 22 * strength : 92 - 30 * strength;
      return `hsl(${change > 0 ? 5 : 215} ${Math.round(85 * strength)}% ${lightness}%)`;
    }
    const [hue, saturation, spread] = PALETTE[data.kinds[node - 1]] || PALETTE[6];
    const s = shade[data.methods[node - 1]];
    return `hsl(${hue + (s - 0.5) * 2 * spread} ${night ? saturation * 0.7 : saturation}% ${(night ? 30 : 74) + s * 8}%)`;
  };
  const isAbove = (node, of) => {
    for (let at = of; at !== 0; at = parent(at)) if (at === node) return true;
    return node === 0;
  };

  const draw = () => {
    const width = stage.clientWidth;
    const scale = window.devicePixelRatio || 1;
    const rows = deepest + 1;
    canvas.width = Math.max(width * scale, 1);
    canvas.height = rows * ROW * scale;
    canvas.style.height = `${rows * ROW}px`;
    const pen = canvas.getContext("2d");
    pen.scale(scale, scale);
    pen.font = "11px system-ui, sans-serif";
    pen.textBaseline = "middle";
    const night = dark();
    const text = night ? "#f2f2f2" : "#141414";
    const accent = night ? "#ff4fb8" : "#e0108c";
    boxes = [];
    const from = left[focus];
    const perPixel = Math.max(total(focus), 1) / Math.max(width, 1);
    const box = (node) => {
      const around = isAbove(node, focus);
      const x = around ? 0 : (left[node] - from) / perPixel;
      const w = around ? width : total(node) / perPixel;
      if (x + w < 0 || x > width || w < 0.4) return false;
      const row = upsideDown ? rows - 1 - depth[node] : depth[node];
      const y = row * ROW;
      const found = pattern && node !== 0 && matches[data.methods[node - 1]];
      pen.fillStyle = found ? accent : node === 0 ? (night ? "#34353a" : "#e4e4e8") : colour(node);
      pen.globalAlpha = around && node !== focus ? 0.55 : 1;
      pen.fillRect(x, y, Math.max(w - 0.5, 0.4), ROW - 1);
      if (node === selected) {
        pen.strokeStyle = text;
        pen.strokeRect(x + 0.5, y + 0.5, Math.max(w - 1.5, 1), ROW - 2);
      }
      if (w > 30) {
        pen.fillStyle = found && !night ? "#ffffff" : text;
        pen.fillText(fitted(pen, node === 0 ? data.title : label(node), w - 6), x + 3, y + ROW / 2);
      }
      pen.globalAlpha = 1;
      boxes.push([x, y, w, node]);
      return true;
    };
    const stack = [0];
    while (stack.length > 0) {
      const node = stack.pop();
      if (box(node)) {
        for (const child of children[node]) if (isAbove(child, focus) || isAbove(focus, child)) stack.push(child);
      }
    }
  };

  // As much of a name as fits, the end of it first: that is the method.
  const fitted = (pen, name, room) => {
    if (pen.measureText(name).width <= room) return name;
    const keep = Math.floor(room / 6);
    if (keep < 4) return "";
    const parts = name.split(".");
    while (parts.length > 2 && parts.join(".").length > keep) parts.shift();
    const short = parts.join(".");
    return short.length <= keep ? short : `${short.slice(0, keep - 1)}\u2026`;
  };

  const tell = (node) => {
    const name = node === 0 ? "everything" : label(node);
    let words = `${name} \u2014 ${amount(total(node))}, ${percent(total(node), whole)} of all`;
    if (focus !== 0 && node !== 0) words += `, ${percent(total(node), total(focus))} of what is shown`;
    if (own(node) > 0) words += `; itself ${amount(own(node))}, ${percent(own(node), whole)}`;
    if (data.before && node !== 0) words += `; before ${percent(data.before[node - 1], whole)}`;
    element("status").textContent = words;
  };

  const show = (node) => {
    focus = node;
    selected = node;
    draw();
    tell(node);
  };

  // --- what can be done -------------------------------------------------

  const at = (event) => {
    const area = canvas.getBoundingClientRect();
    const x = event.clientX - area.left;
    const y = event.clientY - area.top;
    const found = boxes.find(([bx, by, w]) => x >= bx && x <= bx + w && y >= by && y < by + ROW);
    return found ? found[3] : null;
  };
  canvas.addEventListener("mousemove", (event) => {
    const node = at(event);
    if (node !== null) tell(node);
  });
  canvas.addEventListener("click", (event) => {
    const node = at(event);
    if (node !== null) show(node);
  });
  const step = {
    ArrowUp: () => (upsideDown ? children[selected][0] : parent(selected)),
    ArrowDown: () => (upsideDown ? parent(selected) : children[selected][0]),
    ArrowLeft: () => beside(-1),
    ArrowRight: () => beside(1),
  };
  const beside = (way) => {
    if (selected === 0) return undefined;
    const siblings = children[parent(selected)];
    return siblings[siblings.indexOf(selected) + way];
  };
  canvas.addEventListener("keydown", (event) => {
    if (event.key === "Enter") show(selected);
    else if (event.key === "Escape") show(0);
    else if (step[event.key]) {
      const node = step[event.key]();
      if (node !== undefined && (node !== 0 || selected !== 0)) {
        selected = node ?? 0;
        draw();
        tell(selected);
      }
    } else return;
    event.preventDefault();
  });
  const search = (words) => {
    pattern = null;
    if (words !== "") {
      try {
        pattern = new RegExp(words, "i");
      } catch {
        // What is no expression is searched for as it stands.
        pattern = new RegExp(words.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "i");
      }
    }
    data.names.forEach((name, method) => (matches[method] = pattern !== null && pattern.test(name)));
    // Time within a match counts once, at the outermost.
    let matched = 0;
    const stack = [...children[0]];
    while (pattern && stack.length > 0) {
      const node = stack.pop();
      if (matches[data.methods[node - 1]]) matched += total(node);
      else stack.push(...children[node]);
    }
    element("matched").textContent = pattern ? percent(matched, whole) : "";
    draw();
  };
  element("search").addEventListener("input", (event) => search(event.target.value));
  element("reset").addEventListener("click", () => show(0));
  element("turn").addEventListener("click", (event) => {
    upsideDown = !upsideDown;
    event.target.setAttribute("aria-pressed", String(upsideDown));
    draw();
    stage.scrollTop = upsideDown ? stage.scrollHeight : 0;
  });
  element("theme").addEventListener("click", () => {
    document.documentElement.dataset.theme = dark() ? "light" : "dark";
    draw();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  new ResizeObserver(draw).observe(stage);

  element("subtitle").textContent = data.subtitle;
  if (data.left_out > 0) {
    element("note").textContent = `${data.left_out.toLocaleString("en")} of the lightest contexts are not drawn.`;
  }
  if (!data.before) {
    const kinds = ["interpreted", "compiled", "inlined", "native", "thread", "lock", "unknown"];
    const there = kinds.filter((_, kind) => data.kinds.includes(kind));
    element("note").textContent += ` Colours: ${there.join(", ")}.`;
  }
  show(0);
})();
