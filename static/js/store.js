// @ts-check
/**
 * The rows that the page has heard, in order of time. A row that comes again replaces the one it
 * revises; a full frame replaces them all.
 */
export class Table {
  /** @param {string[]} columns their keys; the first is "t" */
  constructor(columns) {
    this.columns = columns;
    /** @type {number[]} */
    this.t = [];
    /** @type {(number | null)[][]} */
    this.rows = [];
    /** @type {number[]} the width of each row, in seconds */
    this.steps = [];
    /** @type {number | null} the width of the rows that came last */
    this.step = null;
  }

  clear() {
    this.t = [];
    this.rows = [];
    this.steps = [];
    this.step = null;
  }

  /**
   * @param {{step: number, rows: (number | null)[][]} | null | undefined} part of a frame
   */
  take(part) {
    if (!part) return;
    if (part.rows.length) this.step = part.step;
    for (const row of part.rows) this.put(row, part.step);
  }

  /**
   * @param {(number | null)[]} row
   * @param {number} step
   */
  put(row, step) {
    const t = Number(row[0]);
    let at = this.t.length;
    while (at > 0 && this.t[at - 1] >= t) at--;
    const old = this.t[at] === t ? 1 : 0;
    this.t.splice(at, old, t);
    this.rows.splice(at, old, row);
    this.steps.splice(at, old, step);
  }

  /**
   * One column; all null where the server sends no such column.
   * @param {string} key
   * @returns {(number | null)[]}
   */
  column(key) {
    const index = this.columns.indexOf(key);
    return this.rows.map((row) => (index < 0 ? null : (row[index] ?? null)));
  }

  /** Where the last row ends. */
  get end() {
    const last = this.t.length - 1;
    return last < 0 ? 0 : this.t[last] + this.steps[last];
  }

  /**
   * Where some columns all hold nothing between rows that do, or rows are missing.
   * @param {(number | null)[][]} columns
   * @returns {{from: number, to: number}[]}
   */
  gaps(columns) {
    const found = [];
    let last = -1;
    for (let i = 0; i < this.t.length; i++) {
      if (!columns.some((column) => column[i] != null)) continue;
      if (last >= 0) {
        const widest = Math.max(this.steps[last], this.steps[i]);
        if (i - last > 1 || this.t[i] - this.t[last] > widest * 1.5) found.push({ from: this.t[last], to: this.t[i] });
      }
      last = i;
    }
    return found;
  }
}
