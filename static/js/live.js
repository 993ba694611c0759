// @ts-check
/**
 * Frames of one run. The socket is a hint and the database the truth: frames are numbered, a gap or
 * a reconnect is filled over HTTP, and nothing is asked for while nobody looks.
 */

/**
 * @typedef {{type: string, seq: number, full?: boolean, run: any, verdict?: any, tiles?: any[], events?: any, cohorts?: any, decisions?: any[], shadow?: any, mixed?: {name: string, url: string}[], summaries?: Record<string, string>, failures?: any[], tenants?: any[], crew?: any[]}} Frame
 * @typedef {"connecting" | "live" | "retry" | "paused" | "hidden" | "ended"} State
 * @typedef {{socket: string, frames: string, apply: (frame: Frame) => void, state: (state: State, waitS?: number) => void, first?: number, longest?: number}} Wiring
 */

export class Live {
  /** @param {Wiring} wiring `first` and `longest` bound the back-off, in ms */
  constructor(wiring) {
    this.wiring = { first: 500, longest: 15000, ...wiring };
    this.seq = 0;
    this.attempt = 0;
    this.heardAt = performance.now();
    this.ended = false;
    this.paused = false;
    this.socket = /** @type {WebSocket | null} */ (null);
    this.timer = /** @type {number | undefined} */ (undefined);
    this.filling = /** @type {Promise<void> | null} */ (null);
    /** Heard while a gap was being filled. */
    this.held = /** @type {Frame[]} */ ([]);
    document.addEventListener("visibilitychange", () => this.look());
    addEventListener("online", () => this.look());
  }

  /**
   * @param {Frame | null} frame what the page was served with
   * @param {boolean} moving whether there is more to come; if not, one answer over HTTP will do
   */
  start(frame, moving) {
    if (frame) this.use(frame);
    if (moving || frame) this.look();
    else this.backfill();
  }

  /** Connect when someone looks at a run that goes on; else let go. */
  look() {
    clearTimeout(this.timer);
    if (this.ended) return this.close("ended");
    if (this.paused) return this.close("paused");
    if (document.hidden) return this.close("hidden");
    if (!this.socket) this.connect();
  }

  letGo() {
    const { socket } = this;
    this.socket = null;
    socket?.close();
  }

  /** @param {State} state */
  close(state) {
    this.letGo();
    this.wiring.state(state);
  }

  connect() {
    this.wiring.state("connecting");
    const socket = new WebSocket(this.wiring.socket);
    this.socket = socket;
    socket.addEventListener("open", () => {
      if (this.socket === socket) this.backfill();
    });
    socket.addEventListener("message", (event) => {
      if (this.socket === socket) this.hear(JSON.parse(event.data));
    });
    socket.addEventListener("close", () => {
      if (this.socket !== socket) return;
      this.socket = null;
      this.retry();
    });
  }

  retry() {
    if (this.ended || this.paused || document.hidden) return this.look();
    const most = Math.min(this.wiring.longest, this.wiring.first * 2 ** this.attempt++);
    const wait = most * (0.5 + Math.random() / 2);
    this.wiring.state("retry", wait / 1000);
    this.timer = setTimeout(() => this.look(), wait);
  }

  /** @param {Frame} frame from the socket */
  hear(frame) {
    if (frame.type !== "frame") return;
    if (this.filling) this.held.push(frame);
    else if (frame.seq > this.seq + 1) {
      this.held.push(frame);
      this.backfill();
    } else this.use(frame);
  }

  /**
   * Everything that changed after what the page has; afterwards what was heard meanwhile.
   * @param {boolean} [anew] ask for all of it
   */
  backfill(anew = false) {
    this.filling ??= this.fetch(anew ? 0 : this.seq).finally(() => {
      this.filling = null;
      this.held = this.held.sort((a, b) => a.seq - b.seq).filter((frame) => frame.seq > this.seq);
      if (this.held[0]?.seq > this.seq + 1) this.timer = setTimeout(() => this.backfill(), this.wiring.first);
      else this.held.splice(0).forEach((frame) => this.hear(frame));
    });
  }

  /** @param {number} since */
  async fetch(since) {
    try {
      const answer = await fetch(`${this.wiring.frames}?since=${since}`, { headers: { Accept: "application/json" }, credentials: "same-origin" });
      if (!answer.ok) throw new Error(`${answer.status}`);
      const servedAt = Date.parse(answer.headers.get("Date") ?? "");
      this.use(await answer.json(), servedAt);
      this.attempt = 0;
      if (!this.ended && this.socket) this.wiring.state("live");
    } catch {
      this.held = [];
      this.letGo();
      this.retry();
    }
  }

  /** @param {{paused?: boolean, ended?: boolean}} change `ended`: there is no more to come */
  set(change) {
    Object.assign(this, change);
    this.look();
  }

  /**
   * Newest wins; an older one has nothing to say.
   * @param {Frame} frame
   * @param {number} [servedAt] the server's clock, where the frame may be older than its arrival
   */
  use(frame, servedAt = NaN) {
    const [at, late] = [performance.now(), servedAt - Date.parse(frame.run.updated_at)];
    this.heardAt = at - (late > 0 ? late : 0);
    if (frame.seq < this.seq || (frame.seq === this.seq && !frame.full && this.seq > 0)) return;
    this.seq = frame.seq;
    this.wiring.apply(frame);
  }

  /** Seconds since the data shown were stored, by the server's clock. */
  get age() {
    return (performance.now() - this.heardAt) / 1000;
  }
}
