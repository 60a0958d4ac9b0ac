// What the page shows now. Changes of one frame are taken together.

export interface Selected {
  kind: "pod" | "node" | "group" | "workload";
  run: number;
  row: number;
}

export interface State {
  /** t is the moment, in milliseconds from the start. */
  t: number;
  /** pick is a decision chosen by itself, of run pickRun; -1: the one in force at t. */
  pick: number;
  pickRun: number;
  selected: Selected | null;
  playing: boolean;
}

type Listener = (now: State, before: State) => void;

export class Store {
  private listeners: Listener[] = [];
  private scheduled = false;
  private shown: State;
  now: State;

  constructor(readonly length: number) {
    this.now = { t: 0, pick: -1, pickRun: 0, selected: null, playing: false };
    this.shown = this.now;
  }

  on(f: Listener): void {
    this.listeners.push(f);
  }

  /** set changes the state; the listeners are called once before the next frame is drawn. */
  set(patch: Partial<State>): void {
    const next = { ...this.now, ...patch };
    if (patch.t !== undefined) {
      next.t = Math.min(this.length, Math.max(0, patch.t));
      if (patch.pick === undefined) next.pick = -1;
    }
    this.now = next;
    if (this.scheduled) return;
    this.scheduled = true;
    requestAnimationFrame(() => this.flush());
  }

  flush(): void {
    this.scheduled = false;
    const before = this.shown;
    this.shown = this.now;
    for (const f of this.listeners) f(this.now, before);
  }
}
