// Draws a Series of the API as two plots over one time axis: nodes, with the scaling steps, and pending pods.
'use strict';

const Plot = (() => {
  const ns = 'http://www.w3.org/2000/svg';
  const minute = 60e3, hour = 60 * minute, day = 24 * hour;
  const timeSteps = [1e3, 5e3, 15e3, 30e3, minute, 2 * minute, 5 * minute, 10 * minute, 15 * minute, 30 * minute, hour, 2 * hour, 3 * hour,
    6 * hour, 12 * hour, day, 2 * day, 7 * day, 14 * day, 28 * day, 91 * day, 365 * day];

  const el = (name, attributes, parent, text) => {
    const e = document.createElementNS(ns, name);
    for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
    if (text !== undefined) e.textContent = text;
    if (parent) parent.append(e);
    return e;
  };
  const html = (name, className, parent, text) => {
    const e = document.createElement(name);
    if (className) e.className = className;
    if (text !== undefined) e.textContent = text;
    if (parent) parent.append(e);
    return e;
  };
  const two = (n) => String(n).padStart(2, '0');
  const full = (ms) => new Date(ms).toISOString().slice(0, 19).replace('T', ' ');
  const tick = (ms, step) => {
    const d = new Date(ms);
    if (step >= day || ms % day === 0) return `${two(d.getUTCMonth() + 1)}-${two(d.getUTCDate())}`;
    const clock = `${two(d.getUTCHours())}:${two(d.getUTCMinutes())}`;
    return step < minute ? `${clock}:${two(d.getUTCSeconds())}` : clock;
  };
  const signed = (n) => (n > 0 ? '+' : '') + n;
  const plural = (n, word) => `${n} ${word}${n === 1 ? '' : 's'}`;

  // A scale from 0 to a round number, with few whole ticks.
  const scale = (most, ticks) => {
    const raw = Math.max(1, most) / ticks;
    const magnitude = 10 ** Math.floor(Math.log10(raw));
    const step = (ticks > 1 ? [1, 2, 5, 10] : [1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10]).map((f) => f * magnitude).find((s) => s >= raw && Number.isInteger(s));
    return { step, top: Math.max(step, Math.ceil(most / step) * step) };
  };

  // The last index with at[i] <= t, -1 if there is none.
  const indexAt = (at, t) => {
    let low = -1, high = at.length;
    while (high - low > 1) {
      const mid = (low + high) >> 1;
      if (at[mid] <= t) low = mid; else high = mid;
    }
    return low;
  };

  const summary = (s) => {
    if (!s.at.length) return `${s.name}: nothing is recorded yet`;
    const last = s.at.length - 1;
    const ups = s.steps.filter((x) => x.to > x.from).length, downs = s.steps.length - ups;
    return `${s.name}, ${full(s.fromMs)} to ${full(s.toMs)} UTC: ${plural(s.nodes[last], 'node')} now, at most ${Math.max(...s.nodes)}; ` +
      `${plural(s.pending[last], 'pending pod')} now, at most ${Math.max(...s.pending)}; ${plural(ups, 'scale-up')}, ${plural(downs, 'scale-down')}`;
  };

  const pointed = new WeakMap(); // by figure: the instant its cursor is at

  const draw = (figure, raw) => {
    const compact = figure.classList.contains('compact');
    const s = { ...raw, fromMs: Date.parse(raw.from), toMs: Date.parse(raw.to), steps: raw.steps.map((x) => ({ ...x, ms: Date.parse(x.at) })) };
    const hadFocus = figure.contains(document.activeElement);
    const shown = pointed.get(figure); // what was read stays when the plot is drawn again
    figure.replaceChildren();
    if (!s.at.length) {
      html('p', 'none', figure, 'Nothing is recorded yet.');
      return;
    }
    s.toMs = Math.max(s.toMs, s.fromMs + 1000);
    const width = Math.max(240, figure.clientWidth);
    const left = 34, right = 10, nodesHeight = compact ? 52 : 150, pendingHeight = compact ? 34 : 90, head = 24, between = 32, foot = 20;
    const height = head + nodesHeight + between + pendingHeight + foot;
    const x = (ms) => left + (Math.min(Math.max(ms, s.fromMs), s.toMs) - s.fromMs) / (s.toMs - s.fromMs) * (width - left - right);
    const frame = html('div', '', figure);
    frame.setAttribute('role', 'img');
    frame.setAttribute('aria-label', summary(s));
    const svg = el('svg', { viewBox: `0 0 ${width} ${height}`, height, 'aria-hidden': 'true' }, frame);
    const pattern = el('pattern', { id: 'hatch', width: 6, height: 6, patternUnits: 'userSpaceOnUse', patternTransform: 'rotate(45)' }, el('defs', {}, svg));
    el('line', { x1: 0, y1: 0, x2: 0, y2: 6, class: 'hatch' }, pattern);

    const panels = [
      { key: 'nodes', name: 'Nodes', values: s.nodes, top: head, height: nodesHeight, ticks: compact ? 2 : 4 },
      { key: 'pending', name: 'Pending pods', values: s.pending, top: head + nodesHeight + between, height: pendingHeight, ticks: compact ? 1 : 3 },
    ];
    const gaps = s.gaps.filter((g) => !g.kinds || g.kinds.includes('Pod') || g.kinds.includes('Node'));
    const bottom = height - foot;

    // The time axis.
    const room = compact ? 84 : 90;
    const step = timeSteps.find((t) => (s.toMs - s.fromMs) / t <= (width - left - right) / room) || timeSteps.at(-1);
    for (let t = Math.ceil(s.fromMs / step) * step; t <= s.toMs; t += step) {
      for (const p of panels) el('line', { x1: x(t), x2: x(t), y1: p.top, y2: p.top + p.height, class: 'grid' }, svg);
      if (x(t) > left + 14 && x(t) < width - 20) el('text', { x: x(t), y: height - 5, 'text-anchor': 'middle' }, svg, tick(t, step));
    }
    for (const p of panels) {
      const { step: unit, top: most } = scale(Math.max(...p.values), p.ticks);
      p.y = (v) => p.top + p.height - v / most * p.height;
      for (let v = 0; v <= most; v += unit) {
        el('line', { x1: left, x2: width - right, y1: p.y(v), y2: p.y(v), class: v ? 'grid' : 'axis' }, svg);
        el('text', { x: left - 6, y: p.y(v) + 4, 'text-anchor': 'end' }, svg, v);
      }
      for (const g of gaps) {
        const a = x(Date.parse(g.from)), b = x(Date.parse(g.to));
        if (b > left) el('rect', { x: a, y: p.top, width: Math.max(1.5, b - a), height: p.height, class: 'gap' }, svg);
      }
      let line = '';
      s.at.forEach((ms, i) => { line += i ? `H${x(ms).toFixed(1)}V${p.y(p.values[i]).toFixed(1)}` : `M${x(ms).toFixed(1)} ${p.y(p.values[i]).toFixed(1)}`; });
      line += `H${x(s.toMs).toFixed(1)}`;
      el('path', { d: `${line}V${p.y(0)}H${x(s.at[0]).toFixed(1)}Z`, class: `${p.key}-area` }, svg);
      el('path', { d: line, class: `${p.key}-line` }, svg);
      const name = el('text', { x: left, y: p.top - 9, class: 'name' }, svg, `${p.name} `);
      el('tspan', { class: `${p.key}-value` }, name, p.values.at(-1));
    }

    // Scaling steps: triangles on the axis of the nodes, one for those that would cover each other.
    const marks = { up: [], down: [] };
    for (const k of s.steps) {
      const list = marks[k.to > k.from ? 'up' : 'down'], at = x(k.ms);
      if (!list.length || at - list.at(-1) > 9) list.push(at);
    }
    const base = panels[0].top + panels[0].height;
    for (const at of marks.up) el('path', { d: `M${at - 5} ${base - 1}h10l-5 -9z`, class: 'up' }, svg);
    for (const at of marks.down) el('path', { d: `M${at - 5} ${panels[0].top + 1}h10l-5 9z`, class: 'down' }, svg);
    if (compact) return;

    const legend = html('ul', 'legend', figure);
    for (const [key, sign, text] of [['up', '▲', 'scale-up'], ['down', '▼', 'scale-down']]) {
      const item = html('li', '', legend);
      html('span', key, item, sign);
      item.append(` ${text}`);
    }
    const item = html('li', '', legend);
    html('span', 'swatch', item);
    item.append('not watched');

    // A cursor for pointers and arrow keys; what it points at is read out.
    const hint = 'Point at the plot, or use the arrow keys in it, to read values.';
    const readout = html('output', 'readout quiet', figure, hint);
    const cursor = el('g', { visibility: 'hidden' }, svg);
    el('line', { y1: panels[0].top, y2: bottom, class: 'cursor' }, cursor);
    const dots = panels.map((p) => el('circle', { r: 4.5, class: `cursor-dot ${p.key}` }, cursor));
    const stops = [...new Set([...s.at, ...s.steps.map((k) => k.ms)])].filter((t) => t >= s.fromMs && t <= s.toMs).sort((a, b) => a - b);
    let stop = shown === undefined ? stops.length : indexAt(stops, shown);
    const show = (ms) => {
      pointed.set(figure, ms);
      const i = Math.max(0, indexAt(s.at, ms));
      cursor.setAttribute('visibility', 'visible');
      cursor.firstChild.setAttribute('x1', x(ms));
      cursor.firstChild.setAttribute('x2', x(ms));
      panels.forEach((p, n) => { dots[n].setAttribute('cx', x(ms)); dots[n].setAttribute('cy', p.y(p.values[i])); });
      const near = s.steps.filter((k) => Math.abs(x(k.ms) - x(ms)) <= 5);
      const gap = gaps.some((g) => Date.parse(g.from) <= ms && ms < Date.parse(g.to));
      readout.textContent = `${full(ms)} UTC: ${plural(s.nodes[i], 'node')}, ${plural(s.pending[i], 'pending pod')}` +
        (near.length ? '; ' + near.slice(0, 4).map((k) => `${k.nodeGroup} ${k.from}→${k.to} (${signed(k.to - k.from)})`).join(', ') : '') +
        (near.length > 4 ? ` and ${near.length - 4} more` : '') + (gap ? '; not watched' : '');
      readout.classList.remove('quiet');
    };
    const hide = () => {
      pointed.delete(figure);
      cursor.setAttribute('visibility', 'hidden');
      readout.textContent = hint;
      readout.classList.add('quiet');
    };
    svg.addEventListener('pointermove', (e) => {
      const box = svg.getBoundingClientRect();
      const at = (e.clientX - box.left) / box.width * width;
      const ms = s.fromMs + (at - left) / (width - left - right) * (s.toMs - s.fromMs);
      show(Math.min(Math.max(ms, s.fromMs), s.toMs));
    });
    svg.addEventListener('pointerleave', hide);
    frame.tabIndex = 0;
    frame.setAttribute('aria-describedby', readout.id = 'plot-readout');
    frame.addEventListener('keydown', (e) => {
      const next = { ArrowLeft: stop - 1, ArrowRight: stop + 1, Home: 0, End: stops.length - 1, PageUp: stop - 10, PageDown: stop + 10 }[e.key];
      if (e.key === 'Escape') hide();
      if (next === undefined || !stops.length) return;
      e.preventDefault();
      stop = Math.min(Math.max(next, 0), stops.length - 1);
      show(stops[stop]);
    });
    frame.addEventListener('blur', () => { if (frame.isConnected) hide(); });
    if (hadFocus) frame.focus({ preventScroll: true });
    if (shown !== undefined) show(Math.min(Math.max(shown, s.fromMs), s.toMs));
  };

  const table = (box, s) => {
    const t = html('table', '');
    const row = html('tr', '', html('thead', '', t));
    for (const [text, n] of [['From (UTC)', ''], ['Nodes', 'n'], ['Pending pods', 'n']]) html('th', n, row, text).scope = 'col';
    const body = html('tbody', '', t);
    const first = Math.max(0, s.at.length - 500);
    for (let i = s.at.length - 1; i >= first; i--) {
      const r = html('tr', '', body);
      html('td', '', r, full(s.at[i]));
      html('td', 'n', r, s.nodes[i]);
      html('td', 'n', r, s.pending[i]);
    }
    box.replaceChildren(t);
  };

  return { draw, table };
})();
