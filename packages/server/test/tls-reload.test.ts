/** A certificate that changes while the server runs: what new connections are shown, on both ports, in one process and in workers. */
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type RunningServer, startServer } from '../../../tools/servers/index.ts';
import { eventually, type ServingProcess, serve } from './processes.ts';

const fileOf = (name: string): string => fileURLToPath(new URL(`tls/${name}`, import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'sluice-tls-reload-'));
afterAll(() => rmSync(folder, { recursive: true }));
const config = join(folder, 'ratelimit.yaml');
writeFileSync(config, 'domain: shop\ndescriptors: [{ key: user, rate_limit: { unit: year, requests_per_unit: 5 } }]\n');

/** Whose certificate a port shows, by its name. */
function shownAt(port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false, ALPNProtocols: ['h2', 'http/1.1'] });
    socket.on('secureConnect', () => {
      resolve(String(socket.getPeerCertificate().subject.CN));
      socket.destroy();
    });
    socket.on('error', reject);
  });
}

function portsOf({ url, greeting }: ServingProcess): readonly [http: number, grpc: number] {
  return [Number(new URL(url).port), Number(/over gRPC at 127\.0\.0\.1:(\d+)/.exec(greeting)![1])];
}

/** Each several times: a port may be shared by workers. */
async function shown(server: ServingProcess): Promise<readonly string[]> {
  const ports = portsOf(server).flatMap((port) => Array.from({ length: 4 }, () => port));
  return [...new Set(await Promise.all(ports.map(shownAt)))];
}

/** As whoever renews certificates does: the key first, or the certificate. */
function show(name: string, cert: string, key: string): void {
  copyFileSync(fileOf(`${name}.pem`), cert);
  copyFileSync(fileOf(`${name}.key`), key);
}

async function metricOf({ url }: ServingProcess, name: string): Promise<number | undefined> {
  // The name in the certificate is not what is looked at here.
  const { request } = await import('node:https');
  const text = await new Promise<string>((resolve, reject) => {
    request(`${url}/metrics`, { rejectUnauthorized: false, agent: false }, (response) => {
      let all = '';
      response.on('data', (chunk) => {
        all += chunk;
      });
      response.on('end', () => resolve(all));
    })
      .on('error', reject)
      .end();
  });
  const line = text.split('\n').find((each) => each.startsWith(`${name} `));
  return line === undefined ? undefined : Number(line.slice(name.length + 1));
}

describe('a changed certificate', () => {
  let redis: RunningServer;
  beforeAll(async () => {
    redis = await startServer({ kind: 'redis' });
  });
  afterAll(() => redis?.stop());

  test.each([
    ['one process', () => []],
    ['two workers', () => ['--redis', redis.url, '--workers', '2']],
  ] as const)('%s: is shown to new connections; one that is of no use is not', async (name, more) => {
    const [cert, key] = ['pem', 'key'].map((end) => join(folder, `${name.replace(' ', '-')}.${end}`)) as [
      string,
      string,
    ];
    show('localhost', cert, key);
    const args = ['--config', config, '--grpc-port', '0', '--tls-cert', cert, '--tls-key', key, ...more()];
    const server = await serve(args);
    const messages = () => server.logs().map(({ message }) => message);
    expect(await shown(server)).toEqual(['localhost']);
    const ends = await metricOf(server, 'sluice_certificate_end_time_seconds');

    show('next', cert, key);
    expect(
      await eventually(
        () => shown(server),
        ([cn, ...others]) => others.length === 0 && cn !== 'localhost',
      ),
    ).toEqual(['localhost (the next one)']);
    await eventually(
      async () => messages(),
      (all) => all.length > 0,
    );
    expect(server.logs()).toMatchObject([
      { level: 'info', message: 'new connections use the changed certificate', ends: '2126-10-25T15:08:00.000Z' },
    ]);
    expect(await metricOf(server, 'sluice_certificate_end_time_seconds')).toBeGreaterThan(ends!);

    // Each of these is refused, said once, and counted.
    const bad: [string, () => void, string][] = [
      ['not a certificate', () => writeFileSync(cert, 'not one'), 'The certificate and the key cannot be used: '],
      ['a key of another', () => copyFileSync(fileOf('localhost.pem'), cert), 'key values mismatch'],
      ['one that has ended', () => show('ended', cert, key), 'The certificate ended at 2016-'],
      ['a file that is gone', () => rmSync(key), '--tls-key: cannot be read: ENOENT'],
    ];
    for (const [index, [, spoil, problem]] of bad.entries()) {
      spoil();
      server.signal('SIGHUP');
      await eventually(
        async () => messages(),
        (all) => all.length > index + 1,
      );
      expect(server.logs().slice(index + 1)).toMatchObject([
        {
          level: 'error',
          message: 'the changed certificate is not used, the old one stays in use',
          problem: expect.stringContaining(problem),
        },
      ]);
      expect(await shown(server)).toEqual(['localhost (the next one)']);
    }
    expect(await metricOf(server, 'sluice_certificate_reloads_total{result="applied"}')).toBe(1);
    expect(await metricOf(server, 'sluice_certificate_reloads_total{result="rejected"}')).toBe(bad.length);

    show('localhost', cert, key);
    expect(
      await eventually(
        () => shown(server),
        ([cn]) => cn === 'localhost',
      ),
    ).toEqual(['localhost']);
    await server.stop();
  });

  test('is what a worker begins with that takes the place of another', async () => {
    const [cert, key] = [join(folder, 'replaced.pem'), join(folder, 'replaced.key')];
    show('localhost', cert, key);
    const args = ['--config', config, '--grpc-port', '0', '--tls-cert', cert, '--tls-key', key];
    const server = await serve([...args, '--redis', redis.url, '--workers', '2']);
    show('next', cert, key);
    await eventually(
      () => shown(server),
      ([cn, ...others]) => others.length === 0 && cn !== 'localhost',
    );
    const { children } = await childrenOf(server.pid);
    for (const pid of children) {
      process.kill(pid, 'SIGKILL');
      await eventually(
        async () => server.logs(),
        (logs) => logs.some(({ pid: dead }) => dead === pid),
      );
      await eventually(
        async () => server.logs().filter(({ message }) => message === 'another worker has taken its place').length,
        (count) => count === children.indexOf(pid) + 1,
      );
    }
    expect(await shown(server)).toEqual(['localhost (the next one)']);
    await server.stop();
  });
});

async function childrenOf(pid: number): Promise<{ readonly children: readonly number[] }> {
  const { readFileSync } = await import('node:fs');
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  return { children: text.split(' ').map(Number) };
}
