/** Both ports over TLS, by the real command: who is shown what, and who is let in. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { credentials, status } from '@grpc/grpc-js';
import { afterAll, describe, expect, test } from 'vitest';
import { grpcClient } from './envoy/support.ts';
import { type ServingProcess, serve } from './processes.ts';

const fileOf = (name: string): string => fileURLToPath(new URL(`tls/${name}`, import.meta.url));
const [ca, cert, key] = ['ca.pem', 'localhost.pem', 'localhost.key'].map((name) => readFileSync(fileOf(name))) as [
  Buffer,
  Buffer,
  Buffer,
];
const TLS = ['--tls-cert', fileOf('localhost.pem'), '--tls-key', fileOf('localhost.key'), '--grpc-port', '0'];

const folder = mkdtempSync(join(tmpdir(), 'sluice-tls-'));
afterAll(() => rmSync(folder, { recursive: true }));
const config = join(folder, 'ratelimit.yaml');
writeFileSync(config, 'domain: shop\ndescriptors: [{ key: user, rate_limit: { unit: year, requests_per_unit: 5 } }]\n');
const asked = { domain: 'shop', descriptors: [{ entries: [{ key: 'user', value: 'ann' }] }] };

interface Shown {
  readonly ca?: Buffer;
  readonly cert?: Buffer;
  readonly key?: Buffer;
}

/** The status, or the code of the error. */
function healthOf({ url }: ServingProcess, shown: Shown): Promise<number | string> {
  return new Promise((resolve) => {
    const asking = request(`${url}/healthz`, { ...shown, agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode!);
    });
    asking.on('error', (error: NodeJS.ErrnoException) => resolve(String(error.code)));
    asking.end();
  });
}

async function rateLimitOf({ greeting }: ServingProcess, shown: Shown): Promise<string | number> {
  const port = Number(/over gRPC at 127\.0\.0\.1:(\d+)/.exec(greeting)![1]);
  const secured = credentials.createSsl(shown.ca ?? null, shown.key ?? null, shown.cert ?? null);
  const client = grpcClient(port, { secured, host: 'localhost' });
  try {
    return (await client.ask(asked)).overallCode;
  } catch (error) {
    return (error as { code: number }).code;
  } finally {
    client.close();
  }
}

describe('a certificate', () => {
  test('is shown on both ports; who does not trust it, and who speaks plainly, gets nothing', async () => {
    const server = await serve(['--config', config, ...TLS]);
    expect(server.url).toMatch(/^https:/);
    expect(await healthOf(server, { ca })).toBe(200);
    expect(await healthOf(server, {})).toMatch(/UNABLE_TO_VERIFY|SELF_SIGNED/);
    await expect(fetch(server.url.replace('https:', 'http:'))).rejects.toThrow();
    expect(await rateLimitOf(server, { ca })).toBe('OK');
    expect(await rateLimitOf(server, {})).toBe(status.UNAVAILABLE);
    await server.stop();
    expect(server.logs().map(({ message }) => message)).toEqual(['draining', 'ended']);
  });

  test('makes the cookie of the lab a secure one; and any name will do, because the certificate says which are its own', async () => {
    const server = await serve(['--config', config, ...TLS]);
    const { statusCode, headers } = await new Promise<IncomingMessage>((resolve, reject) => {
      const options = { ca, method: 'POST', agent: false, headers: { host: 'limits.example.com' } } as const;
      request(`${server.url}/api/rate-limit/gcra`, { ...options, servername: 'localhost' }, (response) => {
        resolve(response.resume());
      })
        .on('error', reject)
        .end();
    });
    expect(statusCode).toBe(200);
    expect(headers['set-cookie']).toEqual([expect.stringMatching(/; HttpOnly; SameSite=Strict; Secure$/)]);
    await server.stop();
  });

  test('of clients, where an authority for them is given', async () => {
    const server = await serve(['--config', config, ...TLS], { SLUICE_TLS_CLIENT_CA: fileOf('ca.pem') });
    expect(await healthOf(server, { ca, cert, key })).toBe(200);
    expect(await healthOf(server, { ca })).not.toBe(200);
    expect(await rateLimitOf(server, { ca, cert, key })).toBe('OK');
    expect(await rateLimitOf(server, { ca })).toBe(status.UNAVAILABLE);
    await server.stop();
  });
});
