/** Rows leave in the order of their times; what comes too late is counted and decided at the time of the row before it. */
import { describe, expect, test } from 'vitest';
import { orderOf, Sorter } from '../../src/backtest/sorter.ts';
import type { Rows } from '../../src/logs/rows.ts';
import { randomFrom } from './oracle.ts';

const HAS = { routes: false, costs: false, spends: false, lines: false };

function rowsOf(times: readonly number[], clients = times.map((_, index) => index)): Rows {
  return {
    count: times.length,
    times: Float64Array.from(times),
    clients: Int32Array.from(clients),
    routes: undefined,
    costs: undefined,
    spends: undefined,
    lines: undefined,
  };
}

function sorterInto(out: number[], window: number): Sorter {
  return new Sorter({
    window,
    has: HAS,
    take: (rows, from, to) => out.push(...rows.times.subarray(from, to)),
  });
}

describe('one source', () => {
  test('rows wait for the window, then leave in order', () => {
    const out: number[] = [];
    const sorter = sorterInto(out, 10);
    const source = sorter.open();
    sorter.push(source, rowsOf([5, 3, 20]));
    expect(out).toEqual([3, 5]);
    sorter.push(source, rowsOf([12, 31]));
    expect(out).toEqual([3, 5, 12, 20]);
    sorter.close(source);
    expect(out).toEqual([3, 5, 12, 20, 31]);
    expect(sorter.late).toBe(0);
  });

  test('a row later than the window counts at the time of the last one that left', () => {
    const out: number[] = [];
    const sorter = sorterInto(out, 10);
    const source = sorter.open();
    sorter.push(source, rowsOf([5, 50]));
    sorter.push(source, rowsOf([41, 100]));
    sorter.push(source, rowsOf([42, 60, 101]));
    sorter.close(source);
    expect(out).toEqual([5, 41, 50, 50, 60, 100, 101]);
    expect(sorter.late).toBe(1);
  });
});

test('several sources are merged: nothing leaves that an open one may precede', () => {
  const out: number[] = [];
  const sorter = sorterInto(out, 0);
  const [one, other] = [sorter.open(), sorter.open()];
  sorter.push(one, rowsOf([1, 5, 9]));
  expect([out, sorter.behind]).toEqual([[], other]);
  sorter.push(other, rowsOf([2, 6]));
  expect([out, sorter.behind]).toEqual([[1, 2, 5, 6], other]);
  sorter.close(other);
  expect(out).toEqual([1, 2, 5, 6, 9]);
  sorter.close(one);
  expect(sorter.behind).toBe(-1);
});

test.each([1, 2, 3, 4, 5])('the order is that of a stable sort (seed %i)', (seed) => {
  const random = randomFrom(seed);
  const times = Float64Array.from({ length: 5000 }, (_, index) => Math.floor(index / 3 + random() * 50));
  const wanted = [...times.keys()].sort((one, another) => times[one]! - times[another]! || one - another);
  expect([...orderOf(times, times.length)]).toEqual(wanted);
});
