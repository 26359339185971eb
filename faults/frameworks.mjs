/**
 * Each framework's server under HTTP requests while its Redis is stopped (SIGSTOP): every request is answered, and in time. Two measures,
 * because machines are busy: the longest answer without what the two processes were late by, and the usual lateness of those that waited for
 * the deadline, compared with a plain server in the same process that answers by a timer, asked in the same moment: a request that comes
 * later in the silence waits less than the timer.
 */
import { Agent, get } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { startWorker } from '../bench/measure/child.mjs';
import { lagDuring, now, watchLag } from './lag.mjs';
import { PROMISED_MS, SILENCE_MS } from './traffic.mjs';

const SERVER = fileURLToPath(new URL('framework-server.mjs', import.meta.url));
export const FRAMEWORKS = ['express', 'fastify', 'hono', 'koa', 'nest', 'fetch', 'node'];

const REQUEST_EVERY_MS = 10;
/** What a request may take beside what is promised of an attempt, on processes that get their turn. */
const MARGIN_MS = 20;
const CALM_MS = 500;
const STOPPED_MS = 2000;
const PATIENCE_MS = 30_000;

/**
 * On a busy machine the way between two processes is late too, which neither of them notices. An adapter is late every time. And a machine
 * that stood still for longer than the deadline has shown nothing.
 */
const TRIES = 5;

/** `servers` is what tools/servers exports. */
export async function keepsInTime(framework, servers, options) {
  for (let tries = 1; ; tries += 1) {
    const result = { ...(await runFramework(framework, servers, options)), tries };
    if ((result.isTelling && result.broken.length === 0) || tries === TRIES) return result;
  }
}

/** `wrong` is what must not happen on any machine, `late` what took too long on one that gives the processes their turn. */
export async function runFramework(framework, servers, { stoppedMs = STOPPED_MS } = {}) {
  const redis = await servers.startServer({ kind: 'redis' });
  const worker = startWorker(SERVER, { silent: true });
  const ownLags = watchLag();
  try {
    const target = { host: redis.host, port: redis.port };
    const traffic = startTraffic(await worker.ask({ do: 'listen', framework, target, plainMs: SILENCE_MS }));
    await traffic.until(isByStore);
    await sleep(CALM_MS);
    await traffic.until(isByStore);
    const stoppedAt = now();
    process.kill(redis.pid, 'SIGSTOP');
    await sleep(stoppedMs);
    // Nobody waits for Redis: whoever asked meanwhile is answered before it goes on.
    const asked = now();
    await traffic.until((requests) => requests.every((request) => request.startedAt > asked || isAnswered(request)));
    process.kill(redis.pid, 'SIGCONT');
    const backAt = now();
    await traffic.until((requests) =>
      requests.some(({ startedAt, source }) => startedAt > backAt && source === 'store'),
    );
    const requests = await traffic.stop();
    return judge(framework, requests, [...ownLags, ...(await worker.ask({ do: 'lags' }))], { stoppedAt, backAt });
  } finally {
    await worker.stop();
    await redis.stop();
  }
}

/** Requests by the clock, whether or not the earlier ones are answered. */
function startTraffic({ port, plainPort }) {
  const agent = new Agent({ keepAlive: true });
  const requests = [];
  const send = () => requests.push(Object.assign(ask(port, agent), { plain: ask(plainPort, agent) }));
  const timer = setInterval(send, REQUEST_EVERY_MS);
  const until = async (condition) => {
    const end = now() + PATIENCE_MS;
    while (!condition(requests)) {
      if (now() > end) throw new Error(`waited in vain; the last request was told ${JSON.stringify(requests.at(-1))}`);
      await sleep(10);
    }
  };
  return {
    until,
    async stop() {
      clearInterval(timer);
      await until((all) => all.every((request) => isAnswered(request) && isAnswered(request.plain)));
      agent.destroy();
      return requests;
    },
  };
}

const isAnswered = ({ tookMs }) => tookMs !== undefined;
const isByStore = (requests) => requests.findLast(isAnswered)?.source === 'store';

function ask(port, agent) {
  const request = { startedAt: now(), tookMs: undefined, status: undefined, source: '' };
  const end = () => {
    request.tookMs = now() - request.startedAt;
  };
  get({ port, host: '127.0.0.1', agent }, (response) => {
    request.status = response.statusCode;
    response.setEncoding('utf8');
    response.on('data', (chunk) => {
      request.source += chunk;
    });
    response.on('end', end);
  }).on('error', end);
  return request;
}

function judge(framework, requests, lags, { stoppedAt, backAt }) {
  const timed = requests.map((request) => ({ ...request, lagMs: lagDuring(lags, request) }));
  const during = timed.filter(({ startedAt }) => startedAt >= stoppedAt && startedAt < backAt);
  const waited = thatWaited(during);
  const longest = (of, sizeOf) => Math.max(...of.map(sizeOf));
  const measured = {
    requests: timed.length,
    during: during.length,
    longestMs: longest(during, ({ tookMs }) => tookMs),
    longestWithoutLagMs: longest(timed, ({ tookMs, lagMs }) => tookMs - lagMs),
    calmMs: longest(
      timed.filter(({ startedAt }) => startedAt < stoppedAt - PROMISED_MS).slice(1),
      ({ tookMs }) => tookMs,
    ),
    byFallback: during.filter(({ source }) => source === 'fallback').length,
    laterThanPlainMs: median(waited.map(({ tookMs, plain }) => tookMs - plain.tookMs)),
    worstLagMs: Math.max(0, ...lags.map(([, late]) => late)),
  };
  const failed = timed.filter(({ status }) => status !== 200).length;
  const wrong = [
    failed > 0 && `${failed} of ${timed.length} requests were not answered with 200`,
    measured.byFallback === 0 && 'nobody was answered by the fallback',
  ].filter(Boolean);
  const late = [
    measured.longestWithoutLagMs > PROMISED_MS + MARGIN_MS &&
      `a request took ${measured.longestWithoutLagMs.toFixed(1)} ms beside what the processes were late by`,
    measured.laterThanPlainMs > MARGIN_MS &&
      `requests that waited came ${measured.laterThanPlainMs.toFixed(1)} ms later than those to a plain server`,
  ].filter(Boolean);
  const isTelling = median(waited.map(({ plain }) => plain.tookMs)) < 2 * SILENCE_MS;
  return { framework, measured, wrong, broken: [...wrong, ...late], isTelling };
}

/** Before the first of them is given up nobody knows that the server is gone: until then each waits for the deadline. */
function thatWaited(during) {
  const firstAnsweredAt = Math.min(...during.map(({ startedAt, tookMs }) => startedAt + tookMs));
  return during.filter(({ startedAt }) => startedAt < firstAnsweredAt);
}

function median(values) {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)];
}
