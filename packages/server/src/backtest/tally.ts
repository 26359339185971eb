/** What is counted as requests go by, in the order of their times: how much came in the busiest second and minute, and the course of it. */

const MICROS = 1e6;
const SECONDS_IN_MINUTE = 60;
/** Points of a course, at most. */
export const COURSE_POINTS = 480;

/** Units over time, in steps that double as often as it takes to keep the number of points bounded. */
export class Course {
  /** Unix seconds of the first point. */
  readonly start: number;
  /** Seconds from one point to the next. */
  step = 1;
  points = new Float64Array(COURSE_POINTS);
  #last = 0;

  constructor(start: number) {
    this.start = start;
  }

  add(second: number, units: number): void {
    let index = Math.floor((second - this.start) / this.step);
    while (index >= COURSE_POINTS) {
      this.#halve();
      index = Math.floor((second - this.start) / this.step);
    }
    if (index > this.#last) this.#last = index;
    this.points[index]! += units;
  }

  #halve(): void {
    const { points } = this;
    for (let index = 0; index < COURSE_POINTS / 2; index += 1) {
      points[index] = points[index * 2]! + points[index * 2 + 1]!;
    }
    points.fill(0, COURSE_POINTS / 2);
    this.step *= 2;
    this.#last >>= 1;
  }

  /** As far as something came. */
  values(): number[] {
    return [...this.points.subarray(0, this.#last + 1)];
  }
}

/** A second or minute, and what came in it. */
export interface Peak {
  readonly units: number;
  /** Unix seconds of its beginning. */
  readonly at: number;
}

/** Follows units by the second and the minute. Times must not go back. */
export class Flow {
  course: Course | undefined;
  #second = Number.NaN;
  #secondEnd = Number.NEGATIVE_INFINITY;
  #inSecond = 0;
  #minute = Number.NaN;
  #inMinute = 0;
  #peakSecond: Peak = { units: 0, at: 0 };
  #peakMinute: Peak = { units: 0, at: 0 };
  /** Units that act later than they were allowed, by second. */
  readonly #later = new Map<number, number>();

  /** So many units at a time in microseconds. */
  add(now: number, units: number): void {
    if (now >= this.#secondEnd) this.#turn(Math.floor(now / MICROS));
    this.#inSecond += units;
  }

  /** Units that were allowed now and act later. */
  addLater(now: number, delay: number, units: number): void {
    if (now >= this.#secondEnd) this.#turn(Math.floor(now / MICROS));
    const second = Math.floor((now + delay) / MICROS);
    if (second === this.#second) this.#inSecond += units;
    else this.#later.set(second, (this.#later.get(second) ?? 0) + units);
  }

  /** A new second begins: those that waited for the seconds before it come first. */
  #turn(second: number): void {
    if (this.#later.size > 0) this.#turnThrough(second);
    else this.#close(second);
  }

  #turnThrough(second: number): void {
    const due = [...this.#later.keys()].filter((each) => each <= second).sort((one, other) => one - other);
    for (const each of due) {
      this.#close(each);
      this.#inSecond += this.#later.get(each)!;
      this.#later.delete(each);
    }
    if (this.#second !== second) this.#close(second);
  }

  #close(second: number): void {
    if (this.#inSecond > 0) this.#count();
    this.#inSecond = 0;
    this.#second = second;
    this.#secondEnd = (second + 1) * MICROS;
  }

  #count(): void {
    const { units, at } = { units: this.#inSecond, at: this.#second };
    this.course ??= new Course(at);
    this.course.add(at, units);
    if (units > this.#peakSecond.units) this.#peakSecond = { units, at };
    const minute = Math.floor(at / SECONDS_IN_MINUTE);
    if (minute !== this.#minute) this.#inMinute = 0;
    this.#minute = minute;
    this.#inMinute += units;
    if (this.#inMinute > this.#peakMinute.units) {
      this.#peakMinute = { units: this.#inMinute, at: minute * SECONDS_IN_MINUTE };
    }
  }

  /** Nothing more comes. */
  end(): void {
    const last = Math.max(this.#second, ...this.#later.keys());
    if (this.#later.size > 0) this.#turnThrough(last);
    if (this.#inSecond > 0) this.#count();
    this.#inSecond = 0;
  }

  get peaks(): { readonly second: Peak; readonly minute: Peak } {
    return { second: this.#peakSecond, minute: this.#peakMinute };
  }
}
