/**
 * The targets of the project, each with what this run measured for it. Nothing here is a result: a row names the numbers it is made of,
 * and when the run did not measure them the row says so. Where a target holds for several algorithms the worst of them decides.
 */
import { MEMORY_BASELINE } from '../contenders/memory.mjs';
import { PEERS } from '../contenders/middleware.mjs';
import { O1_ALGORITHMS, TEXTBOOK_OF } from '../contenders/policies.mjs';
import { BASELINE } from '../contenders/redis.mjs';
import { pairedRatio } from '../measure/statistics.mjs';
import { ratio } from './format.mjs';

const MANY_KEYS = 10_000;
const MILLION = 1_000_000;

export function reachOf(scenarios) {
  const find = (id) => scenarios.find((scenario) => scenario.id === id);
  return [
    ...memoryRows(find('memory')),
    ...redisRateRows(find('redis')),
    ...latencyRows(find('redis')),
    ...cpuRows(find('redis')),
    bytesRow(find('redis')),
    logRow(find('log')),
    ...leaseRows(find('leases')),
    ...middlewareRows(find('middleware')),
    ...serviceRows(find('service')),
  ];
}

const atLeast = (bound) => ({ text: `at least ${bound}x`, holds: (value) => value >= bound, worst: Math.min });
const atMost = (bound) => ({ text: `at most ${bound}x`, holds: (value) => value <= bound, worst: Math.max });

/** `measured`: one number for each algorithm that the target speaks of. */
function row(what, target, measured, format = ratio) {
  const known = (measured ?? []).filter(({ value }) => Number.isFinite(value));
  if (known.length === 0) return { what, target: target.text, measured: undefined };
  const worst = target.worst(...known.map(({ value }) => value));
  return {
    what,
    target: target.text,
    measured: worst,
    text: format(worst),
    each: known.map(({ name, value }) => `${name} ${format(value)}`).join(', '),
    met: target.holds(worst),
  };
}

function memoryRows(memory) {
  const rows = memory?.cells.find(({ keys, outcome }) => keys === MILLION && outcome === 'allowed')?.rows ?? [];
  const baseline = rows.find(({ name }) => name === MEMORY_BASELINE);
  const own = rows.filter(({ algorithm }) => O1_ALGORITHMS.includes(algorithm));
  const values = (pick) => own.map((one) => ({ name: one.algorithm, value: pick(one) }));
  const noPause = { text: 'no pause over 10 ms', holds: (value) => value <= 10, worst: Math.max };
  const milliseconds = (value) => `${value.toFixed(1)} ms`;
  return [
    row(
      `memory, 1M keys: awaited checks/s vs ${MEMORY_BASELINE}`,
      atLeast(5),
      values((one) => one.ratio.median),
    ),
    row(
      `memory, 1M keys: bytes/key vs ${MEMORY_BASELINE}`,
      atMost(0.25),
      values((one) => one.bytesPerKey / baseline.bytesPerKey),
    ),
    row(
      'memory, 1M keys: longest pause (own work)',
      noPause,
      values((one) => one.pauses?.longestOwnMs.median),
      milliseconds,
    ),
  ];
}

function ownRows(redis, client, inFlight) {
  const cell = redis?.cells.find((one) => one.client === client && one.inFlight === inFlight && one.keys === MANY_KEYS);
  return cell?.rows ?? [];
}

const constantSize = (rows) => rows.filter(({ algorithm }) => O1_ALGORITHMS.includes(algorithm));

function redisRateRows(redis) {
  const targets = [
    ['ioredis', 64, BASELINE, 'rateVsBaseline', 2],
    ['node-redis', 64, BASELINE, 'rateVsBaseline', 3],
    ['ioredis', 512, BASELINE, 'rateVsBaseline', 4],
    ['node-redis', 512, BASELINE, 'rateVsBaseline', 5],
    ['ioredis', 64, 'empty EVALSHA', 'rateVsEmpty', 1.5],
    ['node-redis', 64, 'empty EVALSHA', 'rateVsEmpty', 2.5],
  ];
  return targets.map(([client, inFlight, against, field, bound]) =>
    row(
      `${client}, ${inFlight} in flight, 10,000 keys: checks/s vs ${against}`,
      atLeast(bound),
      constantSize(ownRows(redis, client, inFlight)).map((one) => ({ name: one.algorithm, value: one[field].median })),
    ),
  );
}

function latencyRows(redis) {
  return ['ioredis', 'node-redis'].map((client) =>
    row(
      `${client}, one at a time: p50 vs empty EVALSHA`,
      atMost(1.15),
      constantSize(ownRows(redis, client, 1)).map((one) => ({ name: one.algorithm, value: one.p50VsEmpty.median })),
    ),
  );
}

/**
 * Unbatched is measured in two ways: one at a time, where the server pays a wake-up, a read and a write for each check whatever it
 * decides, and 64 in flight in stores of their own, where what is compared is the scripts.
 */
function cpuRows(redis) {
  const measured = (client, inFlight, field) => {
    const rows = ownRows(redis, client, inFlight);
    return rows
      .filter((one) => one[field] in TEXTBOOK_OF)
      .map((one) => {
        const textbook = rows.find((other) => other.textbook === TEXTBOOK_OF[one[field]]);
        return { name: one[field], value: pairedRatio(one.cpuMicros, textbook.cpuMicros).median };
      });
  };
  return ['ioredis', 'node-redis'].flatMap((client) => [
    row(`${client}, 1 in flight: server CPU/check vs textbook`, atMost(0.7), measured(client, 1, 'algorithm')),
    row(
      `${client}, 64 in flight but unbatched: server CPU/check vs textbook`,
      atMost(0.7),
      measured(client, 64, 'unbatched'),
    ),
    row(`${client}, 64 in flight: server CPU/check vs textbook`, atMost(0.4), measured(client, 64, 'algorithm')),
  ]);
}

function bytesRow(redis) {
  const rows = redis?.bytes.rows ?? [];
  const baseline = rows.find(({ name }) => name === BASELINE)?.bytesPerKey;
  const own = constantSize(rows).map((one) => ({ name: one.algorithm, value: one.bytesPerKey / baseline }));
  return row(`bytes/key in Redis vs ${BASELINE}`, atMost(1), own);
}

function logRow(log) {
  const cells = log?.cells.filter(({ limit }) => limit === 1000) ?? [];
  const own = cells.map(({ window, rows: [sluice, sortedSet] }) => ({
    name: `window ${window}`,
    value: pairedRatio(sluice.bytesPerUnit, sortedSet.bytesPerUnit).median,
  }));
  const twelfth = { ...atMost(1 / 12), text: 'at most 1/12 (0.083x)' };
  return row('sliding log, limit 1,000: bytes/unit vs sorted set', twelfth, own, (value) => `${value.toFixed(3)}x`);
}

/** By framework: with fields of the header at least, and of the CPU that the peer adds at most. */
const MIDDLEWARE_TARGETS = [
  ['express', 0.9, 1 / 3],
  ['fastify', 0.78, 1 / 2],
  ['hono', 0.65, 0.8],
];

function middlewareRows(middleware) {
  const rowsOf = (framework) => middleware?.cells.find((cell) => cell.framework === framework)?.rows ?? [];
  const rate = (framework, variant) =>
    rowsOf(framework)
      .filter((one) => one.variant === variant)
      .map(({ rateVsBare }) => ({ name: framework, value: rateVsBare.median }));
  const bare = MIDDLEWARE_TARGETS.flatMap(([framework]) => rate(framework, 'sluice without headers'));
  const rows = MIDDLEWARE_TARGETS.flatMap(([framework, leastRate, mostCpu]) => {
    const cell = middleware?.cells.find((one) => one.framework === framework);
    const share = (variant) => addedBy(cell, variant) / addedBy(cell, 'peer');
    const cpu = [{ name: framework, value: share('sluice') }];
    const floor = Number.isFinite(share('two fields')) ? ` (two constant fields: ${ratio(share('two fields'))})` : '';
    const most = { ...atMost(mostCpu), text: `at most ${mostCpu.toFixed(2)}x` };
    return [
      row(`middleware, ${framework}, with headers: requests/s vs bare`, atLeast(leastRate), rate(framework, 'sluice')),
      row(`middleware, ${framework}, with headers: CPU added vs ${PEERS[framework]}${floor}`, most, cpu),
    ];
  });
  return [row('middleware, without headers: requests/s vs bare', atLeast(0.95), bare), ...rows];
}

function addedBy(cell, variant) {
  return cell?.work.find((one) => one.variant === variant)?.added.mean;
}

function leaseRows(leases) {
  const measured = (outcome, layer, pick) => {
    const rows = leases?.cells.find((cell) => cell.outcome === outcome)?.rows ?? [];
    return rows.filter(({ name }) => name.endsWith(layer)).map((one) => ({ name: one.name, value: pick(one) }));
  };
  const rate = (one) => one.rateVsBaseline.median;
  const calls = (one) => one.scriptCalls.median * 1000;
  const most = (bound) => ({ text: `at most ${bound}`, holds: (value) => value <= bound, worst: Math.max });
  const plain = (value) => value.toFixed(2);
  const idle = (leases?.idle ?? []).slice(1).map(({ name, vsNone }) => ({ name, value: vsNone }));
  return [
    row(`hot key with leases: checks/s vs ${BASELINE}`, atLeast(20), measured('allowed', 'leases', rate)),
    row('hot key with leases: Redis calls per 1,000 checks', most(25), measured('allowed', 'leases', calls), plain),
    row(`denied with the deny cache: checks/s vs ${BASELINE}`, atLeast(20), measured('denied', 'deny cache', rate)),
    row('denied with the deny cache: Redis calls per 1,000', most(1), measured('denied', 'deny cache', calls), plain),
    row('an idle layer around the memory store', atMost(1.05), idle),
  ];
}

function serviceRows(service) {
  const measured = (matches, pick) =>
    (service?.rows ?? [])
      .filter(({ kind, name }) => kind === 'sluice' && matches(name))
      .map((one) => ({ name: one.name, value: pick(one) }));
  const one = (name) => name.endsWith('/v1/attempt') || name.startsWith('gRPC');
  const list = (name) => name.endsWith('in a list');
  return [
    row(
      'service: attempts/s vs the same server answering a constant',
      atLeast(0.8),
      measured(one, (own) => own.rateVsConstant.median),
    ),
    row(
      "service: the constant's CPU/request vs an attempt's",
      atLeast(0.8),
      measured(one, (own) => own.cpuVsConstant.median),
    ),
    row(
      'service: attempts/s in a list vs one by one',
      atLeast(5),
      measured(list, (own) => own.perAttemptVsOne.median),
    ),
  ];
}

export function reachTable(reach) {
  return {
    title: 'Targets, the worst algorithm deciding; ratios are medians of the ratios within each round',
    columns: ['', 'target', 'measured', 'met', 'each'],
    rows: reach.map(({ what, target, measured, text, met, each }) =>
      measured === undefined
        ? [what, target, 'not measured in this run', '', '']
        : [what, target, text, met ? 'yes' : 'NO', each],
    ),
  };
}
