/** What is in Dockerfile, docker-compose.yml and deploy/: run as far as it can be without Docker, Kubernetes and systemd, and held against the CLI. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Deployment } from 'kubernetes-models/apps/v1';
import { NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1';
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1';
import { ConfigMap, Service } from 'kubernetes-models/v1';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { randomPort, startServer } from '../../../tools/servers/index.ts';
import { waitUntil } from '../../../tools/servers/wait-until.ts';
import { runDockerfile, type Stage } from './dockerfile.ts';
import { binary, serve, sluice } from './processes.ts';
import { exchange } from './raw.ts';
import { ask } from './support.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'sluice-deploy-'));
afterAll(() => rmSync(folder, { recursive: true }));
const read = (file: string): string => readFileSync(join(root, file), 'utf8');

const FILES = ['Dockerfile', 'docker-compose.yml', 'deploy/kubernetes.yaml', 'deploy/sluice.service'];

test('every file of deploy/ is held against something by a test', () => {
  const elsewhere = [/^collect-runtime\.mjs$/, /^helm\/sluice\//, /^helm\/examples\/sidecar\//];
  const files = readdirSync(join(root, 'deploy'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(join(root, 'deploy'), join(entry.parentPath, entry.name)));
  expect(files.length).toBeGreaterThan(20);
  for (const file of files) {
    const isKnown = FILES.includes(`deploy/${file}`) || elsewhere.some((pattern) => pattern.test(file));
    expect([file, isKnown]).toEqual([file, true]);
  }
});

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

  /** A container of the image, as far as there can be one: its command with its environment. */
  const startContainer = async (environment: Record<string, string> = {}) => {
    const port = randomPort();
    const [program, ...args] = [...stage.entrypoint, ...stage.command];
    const options = inImage(port);
    const child = spawn(program!, args, { ...options, env: { ...options.env, ...environment } });
    let log = '';
    child.stderr.on('data', (chunk) => {
      log += chunk;
    });
    child.stdout.resume();
    const ended = once(child, 'exit').then(([code]) => code as number | null);
    await waitUntil('it is healthy', () => isHealthy(port));
    const logs = () =>
      log
        .trim()
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line));
    const stop = () => {
      child.kill('SIGTERM');
      return ended;
    };
    return { port, url: `http://localhost:${port}`, logs, stop };
  };

  test('starts, is healthy, answers, and ends when told to', async () => {
    const { url, port, stop } = await startContainer();
    const body = JSON.stringify({ key: 'a', policy: { algorithm: 'fixed-window', limit: 1, window: '1h' } });
    expect(await ask(`${url}/v1/attempt`, { method: 'POST', body })).toMatchObject({
      status: 200,
      body: { allowed: true },
    });
    expect(await stop()).toBe(0);
    expect(await isHealthy(port)).toBe(false);
  });

  test('has the lab at /, and leaves it out with SLUICE_NO_LAB', async () => {
    const withLab = await startContainer();
    const page = await ask(withLab.url, {});
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    const [, script] = /src="\.?\/?(assets\/[^"]+\.js)"/.exec(page.text)!;
    expect((await ask(`${withLab.url}/${script}`, {})).status).toBe(200);
    expect((await ask(`${withLab.url}/api/rate-limit/gcra`, { method: 'POST' })).status).toBe(200);
    await withLab.stop();
    const without = await startContainer({ SLUICE_NO_LAB: 'true' });
    expect((await ask(without.url, {})).status).toBe(404);
    expect((await ask(`${without.url}/api/rate-limit/gcra`, { method: 'POST' })).status).toBe(404);
    await without.stop();
  });

  test('docker compose up: on its Redis, without a token, with the lab, and told what is open', async () => {
    const { services } = parse(read('docker-compose.yml'));
    const redis = await startServer({ kind: 'redis', args: redisArguments(services.redis.command) });
    const given = Object.entries<string | null>(services.sluice.environment).filter(([, value]) => value !== null);
    const [source, target] = services.sluice.volumes[0].split(':');
    const environment = Object.fromEntries(given) as Record<string, string>;
    expect(environment).toEqual({ SLUICE_REDIS: 'redis://redis:6379', SLUICE_CONFIG: target });
    const { url, logs, stop } = await startContainer({ SLUICE_REDIS: redis.url, SLUICE_CONFIG: join(root, source) });
    expect((await ask(url, {})).status).toBe(200);
    expect(await ask(`${url}/readyz`, {})).toMatchObject({ status: 200, body: { ready: true, store: 'up' } });
    const reply = await ask(`${url}/v1/attempt`, { method: 'POST', body: '{"policy":"api","key":"a"}' });
    expect(reply.body).toMatchObject({ allowed: true });
    expect(logs()).toMatchObject([
      {
        level: 'warn',
        message: expect.stringMatching(/^There is no token: everyone who reaches 0\.0\.0\.0:\d+ may ask/),
      },
    ]);
    await stop();
    await redis.stop();
  });

  test('knows the pages of errors', async () => {
    const [program, binary] = stage.entrypoint;
    const { stdout } = await promisify(execFile)(program!, [binary!, 'errors', 'SLUICE_TIMEOUT'], inImage(0));
    expect(stdout).toMatch(/^# SLUICE_TIMEOUT\n/);
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

/** As a shell would take it apart. */
function redisArguments(command: string): string[] {
  const words = [...command.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain!);
  expect(words[0]).toBe('redis-server');
  return words.slice(1);
}

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
    const redis = await startServer({ kind: 'redis', args: redisArguments(services.redis.command) });
    expect(await redis.command('CONFIG', 'GET', 'maxmemory-policy')).toEqual(['maxmemory-policy', 'noeviction']);
    const [source] = services.sluice.volumes[0].split(':');
    const environment = {
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

// biome-ignore lint/suspicious/noExplicitAny: objects of Kubernetes, which the models check.
const MODELS: Readonly<Record<string, new (data: any) => { validate(): void }>> = {
  ...{ ConfigMap, Deployment, Service, NetworkPolicy, PodDisruptionBudget },
};

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
    expect(kinds).toEqual(['ConfigMap', 'Deployment', 'Service', 'Service', 'NetworkPolicy', 'PodDisruptionBudget']);
  });

  test('each is one that Kubernetes takes, and no secret deploys as it is', () => {
    for (const document of documents) {
      const Model = MODELS[document.kind]!;
      expect(() => new Model(document).validate(), document.kind).not.toThrow();
    }
    expect(read('deploy/kubernetes.yaml')).not.toMatch(/change-?me/i);
  });

  test('any pod may answer any request: a hold is settled wherever', () => {
    expect(of('Service').spec.sessionAffinity).toBeUndefined();
  });

  test('the variables that Kubernetes makes of a service do not get in, and its names do', async () => {
    expect(template.spec.enableServiceLinks).toBe(false);
    const { value } = container.env.find(({ name }: { name: string }) => name === 'SLUICE_ALLOWED_HOSTS');
    const server = await serve(['--no-lab'], {
      SLUICE_ALLOWED_HOSTS: value,
      SLUICE_PORT_8080_TCP: 'tcp://10.0.0.1:8080',
    });
    const { name } = of('Service').metadata;
    const at = async (host: string) =>
      (await exchange(Number(new URL(server.url).port), [`GET /metrics HTTP/1.1\r\nHost: ${host}:8080\r\n\r\n`], 1))[0]!
        .status;
    for (const host of [name, `${name}.default`, `${name}.default.svc`, `${name}.default.svc.cluster.local`]) {
      expect(await at(host), host).toBe(200);
    }
    expect(await at('evil.example')).toBe(403);
    expect(server.logs()).toEqual([]);
    await server.stop();
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
    for (const { spec } of documents.filter(({ kind }) => kind === 'Service')) {
      expect(spec.selector).toEqual(labels);
      for (const { targetPort } of spec.ports) expect(Object.fromEntries(ports)).toHaveProperty(targetPort);
    }
    expect(of('NetworkPolicy').spec.podSelector.matchLabels).toEqual(labels);
    for (const { port } of of('NetworkPolicy').spec.ingress[0].ports)
      expect(Object.fromEntries(ports)).toHaveProperty(port);
    for (const { valueFrom } of container.env) {
      if (valueFrom === undefined) continue;
      const { name, key } = valueFrom.secretKeyRef;
      // As the head of the file says to make it.
      expect(read('deploy/kubernetes.yaml')).toMatch(
        new RegExp(`create secret generic ${name} .*--from-literal=${key}=`),
      );
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
    // It starts no Node.
    const [program, seconds] = container.lifecycle.preStop.exec.command;
    expect(program).toBe('sleep');
    const DRAIN_SECONDS = 10;
    expect(template.spec.terminationGracePeriodSeconds).toBeGreaterThan(Number(seconds) + DRAIN_SECONDS);
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
