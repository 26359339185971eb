/** What is in Dockerfile, docker-compose.yml and deploy/: run as far as it can be without Docker, Kubernetes and systemd, and held against the CLI. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { randomPort, startServer } from '../../../tools/servers/index.ts';
import { waitUntil } from '../../../tools/servers/wait-until.ts';
import { runDockerfile, type Stage } from './dockerfile.ts';
import { binary, serve, sluice } from './processes.ts';
import { ask } from './support.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'sluice-deploy-'));
afterAll(() => rmSync(folder, { recursive: true }));
const read = (file: string): string => readFileSync(join(root, file), 'utf8');

const FILES = ['Dockerfile', 'docker-compose.yml', 'deploy/kubernetes.yaml', 'deploy/sluice.service'];

test.each(FILES)('%s names only flags and variables that there are', async (file) => {
  const { out: help } = await sluice('serve', '--help');
  const text = read(file);
  const variables = [...new Set(text.match(/\bSLUICE_[A-Z_]+/g))];
  expect(variables).not.toEqual([]);
  for (const variable of variables) expect(help).toContain(variable);
  for (const [, flags] of text.matchAll(/sluice serve( .*)?$/gm)) {
    for (const [flag] of (flags ?? '').matchAll(/--[a-z-]+/g)) expect(help).toContain(`  ${flag} `);
  }
});

describe('the image', () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await runDockerfile(root.replace(/\/$/, ''), join(folder, 'image'));
  }, 120_000);

  const inImage = (port: number) => ({
    cwd: join(stage.root, stage.workdir),
    env: { PATH: process.env.PATH, ...stage.environment, SLUICE_PORT: String(port) },
  });
  const isHealthy = async (port: number): Promise<boolean> => {
    const [program, ...args] = stage.healthcheck;
    return promisify(execFile)(program!, args, inImage(port)).then(
      () => true,
      () => false,
    );
  };

  test('starts, is healthy, answers, and ends when told to', async () => {
    const port = randomPort();
    const [program, ...args] = [...stage.entrypoint, ...stage.command];
    const child = spawn(program!, args, { ...inImage(port), stdio: 'ignore' });
    const ended = once(child, 'exit');
    await waitUntil('it is healthy', () => isHealthy(port));
    const url = `http://127.0.0.1:${port}/v1/attempt`;
    const body = JSON.stringify({ key: 'a', policy: { algorithm: 'fixed-window', limit: 1, window: '1h' } });
    expect(await ask(url, { method: 'POST', body })).toMatchObject({ status: 200, body: { allowed: true } });
    child.kill('SIGTERM');
    expect((await ended)[0]).toBe(0);
    expect(await isHealthy(port)).toBe(false);
  });

  test('is not run by root, holds no sources, and says on which ports it listens', () => {
    expect(stage.user).not.toBe('root');
    expect(stage.ports).toEqual([8080, 8081]);
    expect(stage.environment.SLUICE_PORT).toBe('8080');
    const packages = join(stage.root, stage.workdir, 'node_modules');
    expect(existsSync(join(packages, 'sluice', 'dist'))).toBe(true);
    for (const name of ['sluice/src', '@sluice/server/src', 'typescript', 'express', 'vitest']) {
      expect(existsSync(join(packages, name)), name).toBe(false);
    }
  });
});

describe('docker-compose.yml', () => {
  const { services } = parse(read('docker-compose.yml'));

  test('mounts a file that is there, where the server looks for it', () => {
    const [source, target] = services.sluice.volumes[0].split(':');
    expect(existsSync(join(root, source))).toBe(true);
    expect(services.sluice.environment.SLUICE_CONFIG).toBe(target);
    expect(services.sluice.environment.SLUICE_REDIS).toBe('redis://redis:6379');
    expect(services.sluice.depends_on.redis.condition).toBe('service_healthy');
    expect(services.sluice.ports).toEqual(['127.0.0.1:8080:8080']);
  });

  test('its Redis is one that the server has nothing to say about', async () => {
    const words = [...services.redis.command.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain);
    expect(words[0]).toBe('redis-server');
    const redis = await startServer({ kind: 'redis', args: words.slice(1) });
    const [source] = services.sluice.volumes[0].split(':');
    const { SLUICE_PROTECT } = services.sluice.environment;
    const environment = {
      SLUICE_PROTECT,
      SLUICE_TOKEN: 'x',
      SLUICE_REDIS: redis.url,
      SLUICE_CONFIG: join(root, source),
    };
    const server = await serve(['--deadline', '30s'], environment);
    const reply = await ask(`${server.url}/v1/attempt`, { method: 'POST', body: '{"policy":"api","key":"a"}' });
    expect(reply.body).toMatchObject({ allowed: true, source: 'store' });
    expect(server.logs()).toEqual([]);
    await server.stop();
    await redis.stop();
  });
});

describe('deploy/kubernetes.yaml', () => {
  const documents = parseAllDocuments(read('deploy/kubernetes.yaml')).map((document) => {
    expect(document.errors).toEqual([]);
    return document.toJS();
  });
  const of = (kind: string) => documents.find((document) => document.kind === kind);
  const { template } = of('Deployment').spec;
  const [container] = template.spec.containers;

  test('has what it needs, once each', () => {
    const kinds = documents.map(({ kind }) => kind);
    expect(kinds).toEqual(['ConfigMap', 'Secret', 'Deployment', 'Service', 'PodDisruptionBudget']);
  });

  test('its parts mean each other', () => {
    const { labels } = template.metadata;
    expect(of('Deployment').spec.selector.matchLabels).toEqual(labels);
    expect(of('Service').spec.selector).toEqual(labels);
    expect(of('PodDisruptionBudget').spec.selector.matchLabels).toEqual(labels);
    expect(of('PodDisruptionBudget').spec.minAvailable).toBeLessThan(of('Deployment').spec.replicas);
    const ports = container.ports.map(({ name, containerPort }: { name: string; containerPort: number }) => [
      name,
      containerPort,
    ]);
    expect(ports).toEqual([
      ['http', 8080],
      ['grpc', 8081],
    ]);
    for (const { targetPort } of of('Service').spec.ports) expect(Object.fromEntries(ports)).toHaveProperty(targetPort);
    for (const { valueFrom } of container.env) {
      if (valueFrom === undefined) continue;
      expect(valueFrom.secretKeyRef.name).toBe(of('Secret').metadata.name);
      expect(of('Secret').stringData).toHaveProperty(valueFrom.secretKeyRef.key);
    }
    const [{ mountPath }] = container.volumeMounts;
    const { value: config } = container.env.find(({ name }: { name: string }) => name === 'SLUICE_CONFIG');
    expect(of('ConfigMap').data).toHaveProperty([config.slice(`${mountPath}/`.length)]);
    expect(template.spec.volumes[0].configMap.name).toBe(of('ConfigMap').metadata.name);
  });

  test('its limits are right, and its probes are answered', async () => {
    const file = join(folder, 'policies.yaml');
    writeFileSync(file, of('ConfigMap').data['policies.yaml']);
    expect(await sluice('check', file)).toMatchObject({ code: 0 });
    const server = await serve(['--config', file]);
    for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe']) {
      expect((await ask(server.url + container[probe].httpGet.path, {})).status, probe).toBe(200);
    }
    await server.stop();
  });

  test('waits longer than the server drains', async () => {
    const [, , script] = container.lifecycle.preStop.exec.command;
    const [, waitMs] = /setTimeout\(\(\) => \{\}, (\d+)\)/.exec(script)!;
    const DRAIN_SECONDS = 10;
    expect(template.spec.terminationGracePeriodSeconds).toBeGreaterThan(Number(waitMs) / 1e3 + DRAIN_SECONDS);
  });
});

describe('deploy/sluice.service', () => {
  const text = read('deploy/sluice.service');

  test('starts what there is, and lets it drain', () => {
    expect(text).toMatch(/^ExecStart=\/usr\/local\/bin\/sluice serve --config \S+$/m);
    expect(text).toMatch(/^TimeoutStopSec=15s$/m);
  });

  // Machines without systemd (containers, mostly) cannot read its units either.
  test.skipIf(!existsSync('/usr/bin/systemd-analyze'))(
    'is a unit that systemd understands and calls safe',
    async () => {
      const file = join(folder, 'sluice.service');
      writeFileSync(file, text.replace('/usr/local/bin/sluice', binary));
      const verified = await promisify(execFile)('systemd-analyze', ['verify', file]);
      expect(verified.stdout + verified.stderr).toBe('');
      const { stdout } = await promisify(execFile)('systemd-analyze', ['security', '--offline=true', file]);
      expect(Number(/Overall exposure level for \S+ ([\d.]+)/.exec(stdout)?.[1])).toBeLessThan(2);
    },
  );
});
