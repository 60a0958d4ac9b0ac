// Keeps the page as the server would make it now: what is marked data-live is taken from the page again, plots from the
// API. Without this script the page shows the same, as it was when it was loaded.
'use strict';

(() => {
  const every = 3000;
  const series = new Map(); // by figure: what is drawn
  const lost = document.getElementById('lost');
  const announce = document.getElementById('announce');

  const get = async (url, accept) => {
    const answer = await fetch(url, { headers: { Accept: accept }, cache: 'no-store', credentials: 'same-origin' });
    if (!answer.ok) throw new Error(`${url}: ${answer.status}`);
    return answer;
  };

  const texts = async () => {
    const places = document.querySelectorAll('[data-live]');
    if (!places.length) return;
    const page = new DOMParser().parseFromString(await (await get(location.href, 'text/html')).text(), 'text/html');
    const names = (d) => d.querySelector('[data-names]')?.dataset.names;
    if (names(page) !== names(document)) { // clusters came or went
      location.reload();
      return;
    }
    const said = [];
    for (const place of places) {
      const now = page.getElementById(place.id);
      if (!now || now.innerHTML === place.innerHTML) continue;
      if (place.contains(document.activeElement) && place !== document.activeElement) continue; // somebody is in there
      const news = now.textContent.trim();
      if (place.dataset.announce !== undefined && news !== place.textContent.trim()) said.push(`${place.dataset.announce} ${news}`.trim());
      const scrolled = place.scrollTop;
      place.replaceChildren(...now.childNodes);
      place.scrollTop = scrolled;
    }
    if (said.length) announce.textContent = said.join('; ');
  };

  const plots = async () => {
    for (const figure of document.querySelectorAll('[data-plot]')) {
      const last = figure.dataset.last ? `?last=${encodeURIComponent(figure.dataset.last)}` : '';
      const text = await (await get(`/api/clusters/${encodeURIComponent(figure.dataset.plot)}/series${last}`, 'application/json')).text();
      if (series.get(figure)?.text === text) continue;
      series.set(figure, { text, data: JSON.parse(text) });
      show(figure);
    }
  };

  const show = (figure) => {
    const known = series.get(figure);
    if (!known) return;
    Plot.draw(figure, known.data);
    const box = document.querySelector('[data-plot-table]');
    if (box && box.closest('details').open) Plot.table(box, known.data);
  };

  const update = async () => {
    if (!document.hidden) {
      const asked = await Promise.allSettled([texts(), plots()]);
      lost.hidden = !asked.some((a) => a.status === 'rejected');
    }
    setTimeout(update, every);
  };

  const widths = new ResizeObserver((changed) => {
    for (const { target, contentRect } of changed) {
      if (target.dataset.width !== String(Math.round(contentRect.width))) {
        target.dataset.width = String(Math.round(contentRect.width));
        show(target);
      }
    }
  });
  for (const figure of document.querySelectorAll('[data-plot]')) widths.observe(figure);
  document.querySelector('details.data')?.addEventListener('toggle', () => show(document.querySelector('[data-plot]')));
  update();
})();
