// A list that only draws the rows in sight, so that ten thousand rows cost what twenty do. To a keyboard and a screen reader it is
// one listbox with the active option told by its id.

import { fill, h } from "./dom";

export interface ListOptions {
  label: string;
  id: string;
  row: number;
  draw: (i: number) => Node[];
  pick?: (i: number) => void;
  title?: (i: number) => string;
  empty: string;
  /** most is how many rows are in sight at once. */
  most: number;
}

export class VirtualList {
  readonly el: HTMLElement;
  private readonly inner: HTMLElement;
  private readonly none: HTMLElement;
  private count = 0;
  private from = -1;
  private to = -1;
  private active = -1;
  // What the browser would have to lay the page out for to tell.
  private top = 0;
  private height = 0;

  constructor(private readonly o: ListOptions) {
    this.inner = h("div", { class: "rows", role: "presentation" });
    this.none = h("p", { class: "empty" }, o.empty);
    this.el = h("div", { class: "list", role: "listbox", tabindex: 0, "aria-label": o.label, id: o.id }, this.inner);
    this.el.addEventListener("scroll", () => {
      this.top = this.el.scrollTop;
      this.draw();
    }, { passive: true });
    this.el.addEventListener("keydown", (e) => this.key(e));
    this.el.addEventListener("click", (e) => {
      const row = (e.target as Element).closest<HTMLElement>("[data-i]");
      if (row) this.choose(Number(row.dataset.i));
    });
    new ResizeObserver(([e]) => {
      this.height = e!.contentRect.height;
      this.draw();
    }).observe(this.el);
  }

  /** show says how many rows there are, and which is active (-1: none). */
  show(count: number, active: number, follow = true): void {
    this.count = count;
    this.inner.style.height = `${count * this.o.row}px`;
    this.el.style.height = count === 0 ? "" : `${Math.min(this.o.most, count) * this.o.row}px`;
    // A listbox without options is none.
    if (count === 0) {
      this.el.removeAttribute("role");
      fill(this.el, this.none);
    } else if (!this.inner.isConnected || this.el.getAttribute("role") === null) {
      this.el.setAttribute("role", "listbox");
      fill(this.el, this.inner);
    }
    this.top = Math.min(this.top, Math.max(0, (count - 1) * this.o.row));
    const moved = active !== this.active;
    this.active = active;
    if (moved && follow && active >= 0) this.reveal(active);
    this.draw(true);
  }

  private reveal(i: number): void {
    const top = i * this.o.row;
    const height = this.height || this.o.most * this.o.row;
    if (top < this.top) this.scroll(Math.max(0, top - this.o.row));
    else if (top + this.o.row > this.top + height) this.scroll(Math.max(0, Math.min(this.count * this.o.row - height, top + 2 * this.o.row - height)));
  }

  private scroll(top: number): void {
    this.top = top;
    this.el.scrollTop = top;
  }

  private draw(force = false): void {
    const from = Math.max(0, Math.floor(this.top / this.o.row) - 4);
    const to = Math.min(this.count, Math.ceil((this.top + (this.height || this.o.most * this.o.row)) / this.o.row) + 4);
    if (!force && from === this.from && to === this.to) return;
    this.from = from;
    this.to = to;
    const rows: Node[] = [];
    for (let i = from; i < to; i++) {
      const on = i === this.active;
      const row = h("div", {
        class: on ? "row on" : "row", role: "option", id: `${this.o.id}-${i}`, "data-i": i, "aria-selected": on ? "true" : "false",
        "aria-setsize": this.count, "aria-posinset": i + 1, title: this.o.title?.(i),
      }, this.o.draw(i));
      row.style.top = `${i * this.o.row}px`;
      row.style.height = `${this.o.row}px`;
      rows.push(row);
    }
    fill(this.inner, rows);
    if (this.active >= from && this.active < to) this.el.setAttribute("aria-activedescendant", `${this.o.id}-${this.active}`);
    else this.el.removeAttribute("aria-activedescendant");
  }

  private choose(i: number): void {
    if (i < 0 || i >= this.count) return;
    this.active = i;
    this.reveal(i);
    this.draw(true);
    this.o.pick?.(i);
  }

  private key(e: KeyboardEvent): void {
    const page = Math.max(1, Math.floor(this.height / this.o.row) - 1);
    const to: Record<string, number> = {
      ArrowDown: this.active + 1, ArrowUp: this.active - 1, PageDown: this.active + page, PageUp: this.active - page,
      Home: 0, End: this.count - 1, Enter: this.active, " ": this.active,
    };
    const i = to[e.key];
    if (i === undefined || this.count === 0 || e.ctrlKey || e.metaKey || e.altKey) return;
    e.preventDefault();
    this.choose(Math.min(this.count - 1, Math.max(0, i)));
  }
}
