/**
 * The metrics, the dashboard and the alerts together: a real Prometheus scrapes servers to which everything happens that a metric tells of, and
 * every expression of the dashboard and of the alerts is run on what it has seen.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import {
  promtool,
  type RunningPrometheus,
  type RunningServer,
  type Series,
  startPrometheus,
  startServer,
} from '../../../tools/servers/index.ts';
import { eventually, type ServingProcess, serve } from './processes.ts';
import { ask } from './support.ts';

const files = fileURLToPath(new URL('../../../deploy/helm/sluice/files/', import.meta.url));
const dashboard = JSON.parse(readFileSync(join(files, 'dashboard.json'), 'utf8'));
const alerts: { alert: string; expr: string }[] = parse(readFileSync(join(files, 'alerts.yaml'), 'utf8')).groups[0]
  .rules;

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly datasource?: { readonly uid: string };
  readonly targets?: readonly { readonly refId: string; readonly expr: string; readonly legendFormat: string }[];
}

const panels: readonly Panel[] = dashboard.panels;
const drawn = panels.filter(({ type }) => type !== 'row');

/** What Grafana puts in. */
const filled = (expr: string): string =>
  expr.replaceAll(/\$instance|\$policy/g, '.*').replaceAll('$__rate_interval', '1m');

const folder = mkdtempSync(join(tmpdir(), 'sluice-monitoring-'));
afterAll(() => rmSync(folder, { recursive: true }));
const config = join(folder, 'policies.yaml');
const POLICIES = `policies:
  api: { algorithm: fixed-window, limit: 5, window: 1h }
  trial: { algorithm: fixed-window, limit: 1, window: 1h, shadow: true }
  never-asked: { algorithm: fixed-window, limit: 1, window: 1h }
`;
writeFileSync(config, POLICIES);
const domain = join(folder, 'domain.yaml');
writeFileSync(domain, 'domain: shop\ndescriptors: [{ key: user, rate_limit: { unit: year, requests_per_unit: 2 } }]\n');

const attempt = ({ url }: ServingProcess, policy: string) =>
  ask(`${url}/v1/attempt`, { method: 'POST', body: JSON.stringify({ key: 'ann', policy }) });

describe('a real Prometheus', () => {
  let [redis, open, closed, prometheus] = [] as unknown as [
    RunningServer,
    ServingProcess,
    ServingProcess,
    RunningPrometheus,
  ];
  beforeAll(async () => {
    redis = await startServer({ kind: 'redis' });
    const args = ['--config', config, '--config', domain, '--redis', redis.url, '--workers', '1', '--grpc-port', '0'];
    open = await serve(args);
    closed = await serve([...args, '--fallback', 'deny', '--deadline', '30s']);
    const targets = [open, closed].map(({ url }) => new URL(url).host);
    prometheus = await startPrometheus({ targets, rules: [join(files, 'alerts.yaml')] });
  });
  afterAll(async () => {
    await Promise.all([prometheus?.stop(), open?.stop(), closed?.stop()]);
    await redis?.stop();
  });

  const at = ({ url }: ServingProcess): string => new URL(url).host;
  /** One number, once it is so. */
  const seen = async (expression: string, isSo: (value: number) => boolean): Promise<number | undefined> => {
    const look = async (): Promise<readonly Series[]> => prometheus.query(expression);
    const [series] = await eventually(look, ([one]) => one !== undefined && isSo(one.value));
    return series?.value;
  };

  test('sees every configured policy and every source before anybody has asked', async () => {
    await seen('count(sluice_build_info)', (count) => count === 2);
    const policies = await prometheus.query(`sluice_decisions_total{instance="${at(open)}"}`);
    expect(new Set(policies.map(({ metric }) => metric.policy))).toEqual(new Set(['api', 'trial', 'never-asked']));
    expect(policies).toHaveLength(9);
    expect(policies.every(({ value }) => value === 0)).toBe(true);
    const sources = await prometheus.query(`sluice_answers_total{instance="${at(open)}"}`);
    expect(sources.map(({ metric }) => metric.source).sort()).toEqual([
      'deny-cache',
      'exception',
      'fail-closed',
      'fallback',
      'store',
    ]);
    expect(await prometheus.query(`process_start_time_seconds{instance="${at(open)}"} > time() - 600`)).toHaveLength(1);
    expect(await prometheus.query(`process_resident_memory_bytes{instance="${at(open)}"} > 2e7`)).toHaveLength(1);
  });

  test('sees who answered: the store, the deny cache, an exception, a fallback, and one that denies', async () => {
    const answers = (server: ServingProcess, source: string) =>
      `sluice_answers_total{instance="${at(server)}",source="${source}"}`;
    for (let count = 0; count < 8; count += 1) await attempt(open, 'api');
    for (let count = 0; count < 2; count += 1) await attempt(open, 'trial');
    expect(await seen(answers(open, 'store'), (value) => value >= 8)).toBeGreaterThanOrEqual(8);
    expect(await seen(answers(open, 'deny-cache'), (value) => value > 0)).toBe(2);
    expect(
      await seen(
        `sluice_decisions_total{instance="${at(open)}",policy="api",outcome="denied"}`,
        (value) => value === 3,
      ),
    ).toBe(3);
    expect(
      await seen(
        `sluice_decisions_total{instance="${at(open)}",policy="trial",outcome="shadow_denied"}`,
        (value) => value === 1,
      ),
    ).toBe(1);
    const body = JSON.stringify({ kind: 'exempt', key: 'bob' });
    expect((await ask(`${open.url}/v1/exceptions`, { method: 'POST', body })).status).toBe(200);
    await ask(`${open.url}/v1/attempt`, { method: 'POST', body: JSON.stringify({ key: 'bob', policy: 'api' }) });
    expect(await seen(answers(open, 'exception'), (value) => value === 1)).toBe(1);
    const envoy = JSON.stringify({ domain: 'shop', descriptors: [{ entries: [{ key: 'user', value: 'ann' }] }] });
    for (let count = 0; count < 3; count += 1) await ask(`${open.url}/json`, { method: 'POST', body: envoy });
    expect(await seen('sum(ratelimit_service_rate_limit_over_limit)', (value) => value === 1)).toBe(1);
    // Still up, and no time on the fallback.
    expect(await seen('min(sluice_store_up)', (value) => value === 1)).toBe(1);
    expect(await seen('max(sluice_breaker_open)', (value) => value === 0)).toBe(0);

    await redis.stop();
    const during = async (): Promise<void> => {
      await attempt(open, 'never-asked');
      await attempt(closed, 'never-asked');
    };
    await eventually(
      async () => {
        await during();
        return prometheus.query('sluice_breaker_open > 0 and on (instance) sluice_store_up == 0');
      },
      (found) => found.length === 2,
    );
    expect(await seen('max(sluice_store_up)', (value) => value === 0)).toBe(0);
    expect(await seen(answers(open, 'fallback'), (value) => value > 0)).toBeGreaterThan(0);
    expect(await seen(answers(closed, 'fail-closed'), (value) => value > 0)).toBeGreaterThan(0);
    expect(await seen('min(sluice_fallback_seconds_total)', (value) => value > 1)).toBeGreaterThan(1);
    expect(await seen('min(sluice_store_errors_total)', (value) => value > 0)).toBeGreaterThan(0);
  });

  test('sees a config that is not taken', async () => {
    writeFileSync(config, 'policies: 1\n');
    open.signal('SIGHUP');
    expect(
      await seen(`sluice_config_reloads_total{instance="${at(open)}",result="rejected"}`, (value) => value === 1),
    ).toBe(1);
    writeFileSync(config, POLICIES);
  });

  test.each(drawn.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => [title, expr] as const)))(
    'the panel "%s" draws something: %s',
    async (_, expr) => {
      const series = await eventually(
        () => prometheus.query(filled(expr)),
        (found) => found.length > 0,
      );
      expect(series.length).toBeGreaterThan(0);
    },
  );

  test('marks are expressions too', async () => {
    for (const { expr } of dashboard.annotations.list) await prometheus.query(expr);
  });

  test('has loaded every alert, and evaluates each of them', async () => {
    type Rule = { readonly name: string; readonly health: string; readonly lastError?: string; readonly state: string };
    const look = async (): Promise<readonly Rule[]> => (await prometheus.get('rules')).groups[0].rules;
    const rules = await eventually(look, (list) => list.every(({ health }) => health !== 'unknown'));
    expect(rules.map(({ name }) => name)).toEqual(alerts.map(({ alert }) => alert));
    for (const { name, health, lastError } of rules) expect([name, health, lastError]).toEqual([name, 'ok', undefined]);
    const statesNow = async (): Promise<Record<string, string>> =>
      Object.fromEntries((await look()).map(({ name, state }) => [name, state]));
    const states = await eventually(statesNow, ({ SluiceConfigRejected: state }) => state === 'firing');
    // Redis is away: what is to be told after a minute has begun.
    expect(states).toMatchObject({
      SluiceConfigRejected: 'firing',
      SluiceStoreDown: expect.stringMatching(/pending|firing/),
      SluiceBreakerOpen: expect.stringMatching(/pending|firing/),
      SluiceAbsent: 'inactive',
      SluiceMostlyDenied: 'inactive',
    });
  });

  test('knows every metric by name that the dashboard and the alerts name', async () => {
    const all: readonly string[] = await prometheus.get('label/__name__/values');
    // Only with TLS and with workers; tests of those look at them.
    const elsewhere = [/^sluice_certificate_(?:end_time_seconds|reloads_total)$/, /^sluice_workers_silent$/];
    const expressions = [
      ...drawn.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)),
      ...alerts.map(({ expr }) => expr),
    ];
    const named = new Set(expressions.flatMap((expr) => expr.match(/\b(?:sluice|process|ratelimit)_\w+/g) ?? []));
    expect(named.size).toBeGreaterThan(15);
    for (const name of named) if (!elsewhere.some((pattern) => pattern.test(name))) expect(all).toContain(name);
  });
});

describe('the alerts', () => {
  test('are rules that promtool takes, and fire when they should', async () => {
    expect(await promtool('check', 'rules', join(files, 'alerts.yaml'))).toContain(`${alerts.length} rules found`);
    expect(await promtool('test', 'rules', join(files, 'alerts.test.yaml'))).toContain('SUCCESS');
  });

  test('each is in the test of the rules', () => {
    const text = readFileSync(join(files, 'alerts.test.yaml'), 'utf8');
    for (const { alert } of alerts) expect(text).toContain(`alertname: ${alert},`);
  });
});

describe('the dashboard', () => {
  test('has what Grafana needs of each panel', () => {
    expect(dashboard).toMatchObject({ uid: 'sluice', title: 'Sluice', schemaVersion: expect.any(Number) });
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    const names = dashboard.templating.list.map(({ name }: { name: string }) => name);
    for (const { title, datasource, targets = [] } of drawn) {
      expect(datasource?.uid, title).toBe(`\${datasource}`);
      expect(new Set(targets.map(({ refId }) => refId)).size, title).toBe(targets.length);
      expect(targets.length, title).toBeGreaterThan(0);
      for (const { expr } of targets) {
        for (const [, name] of expr.matchAll(/\$(\w+)/g)) expect([...names, '__rate_interval']).toContain(name);
      }
    }
  });

  test('its panels lie beside each other in 24 columns, and not on each other', () => {
    const cells = new Set<string>();
    for (const { title, gridPos } of panels) {
      const { x, y, w, h } = gridPos;
      expect(x + w, title).toBeLessThanOrEqual(24);
      for (let column = x; column < x + w; column += 1) {
        for (let line = y; line < y + h; line += 1) {
          expect(cells.has(`${column},${line}`), title).toBe(false);
          cells.add(`${column},${line}`);
        }
      }
    }
  });
});
