/**
 * The chart: rendered with every file of values, checked by the types and schemas of Kubernetes, and held against the program: its flags, variables,
 * ports, paths and limits.
 */
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { PrometheusRule, ServiceMonitor } from '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1';
import { Ajv } from 'ajv';
import { DaemonSet, Deployment } from 'kubernetes-models/apps/v1';
import { HorizontalPodAutoscaler } from 'kubernetes-models/autoscaling/v2';
import { NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1';
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1';
import { ConfigMap, Secret, Service, ServiceAccount } from 'kubernetes-models/v1';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { chartContext, type Rendered, type RenderOptions, renderChart, Templates } from '../../../tools/helm/render.ts';
import { type RunningServer, startServer } from '../../../tools/servers/index.ts';
import { SERVE_FLAGS } from '../src/cli/serve-options.ts';
import { VARIABLES } from '../src/cli/variables.ts';
import { serve, sluice } from './processes.ts';
import { ask } from './support.ts';

// biome-ignore lint/suspicious/noExplicitAny: objects of Kubernetes, which the models check.
type Any = any;

const root = fileURLToPath(new URL('../../../', import.meta.url));
const chart = join(root, 'deploy/helm/sluice');
const valuesOf = (name: string): object => parse(readFileSync(join(chart, 'values', `${name}.yaml`), 'utf8'));
const OPERATOR = ['monitoring.coreos.com/v1'];

const SECRET = { existingSecret: 'limits', redis: { fromSecret: true } };
const EVERYTHING = {
  ...{
    token: 'abc',
    redis: { url: 'redis://redis:6379' },
    imagePullSecrets: [{ name: 'pull' }],
    allowedHosts: ['limits.example'],
  },
  settings: { deadline: '100ms', fallback: 'allow', 'log-requests': true, 'hash-keys': false, 'max-keys': 5000 },
  env: [{ name: 'OTEL_EXPORTER_OTLP_ENDPOINT', value: 'http://collector:4318' }],
  tls: { existingSecret: 'sluice-tls' },
  service: { annotations: { a: 'b' } },
  autoscaling: { enabled: true },
  networkPolicy: { enabled: true, metricsFrom: [{ namespaceSelector: {} }], egress: [{ ports: [{ port: 6379 }] }] },
  ...{
    serviceMonitor: { enabled: true, labels: { team: 'a' } },
    prometheusRule: { enabled: true },
    dashboard: { enabled: true },
  },
  ...{ podAnnotations: { a: 'b' }, podLabels: { c: 'd' }, nodeSelector: { e: 'f' }, priorityClassName: 'high' },
  ...{
    tolerations: [{ operator: 'Exists' }],
    affinity: { nodeAffinity: {} },
    serviceAccount: { annotations: { g: 'h' } },
  },
};

/** Each way to install it. */
const WAYS: readonly (readonly [name: string, options: RenderOptions])[] = [
  ['with a secret', { values: [SECRET] }],
  ['production', { values: [valuesOf('production')], apiVersions: OPERATOR }],
  ['daemonset', { values: [valuesOf('daemonset'), SECRET] }],
  ['sidecar', { values: [valuesOf('sidecar')] }],
  ['everything', { values: [EVERYTHING], apiVersions: OPERATOR, release: 'prod', namespace: 'limits' }],
  ['client certificates', { values: [SECRET, { tls: { existingSecret: 'tls', requireClientCertificate: true } }] }],
  ['one pod in memory', { values: [{ token: 'abc', replicas: 1, service: { grpcPort: null } }] }],
  ['without the operator', { values: [valuesOf('production')] }],
];

const MODELS: Readonly<Record<string, new (data: Any) => { validate(): void }>> = {
  ...{ ConfigMap, Secret, Service, ServiceAccount, Deployment, DaemonSet, HorizontalPodAutoscaler, NetworkPolicy },
  ...{ PodDisruptionBudget, ServiceMonitor, PrometheusRule },
};

const TYPES: Readonly<Record<string, string>> = {
  ...{ ConfigMap: 'kubernetes-models/v1', Secret: 'kubernetes-models/v1', Service: 'kubernetes-models/v1' },
  ...{
    ServiceAccount: 'kubernetes-models/v1',
    Deployment: 'kubernetes-models/apps/v1',
    DaemonSet: 'kubernetes-models/apps/v1',
  },
  ...{
    HorizontalPodAutoscaler: 'kubernetes-models/autoscaling/v2',
    NetworkPolicy: 'kubernetes-models/networking.k8s.io/v1',
  },
  ...{ PodDisruptionBudget: 'kubernetes-models/policy/v1' },
  ...{ ServiceMonitor: '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1' },
  ...{ PrometheusRule: '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1' },
};

const isByTheSchema = new Ajv({ strict: false }).compile(
  JSON.parse(readFileSync(join(chart, 'values.schema.json'), 'utf8')),
);

const folder = mkdtempSync(join(tmpdir(), 'sluice-helm-'));
afterAll(() => rmSync(folder, { recursive: true }));

const of = ({ objects }: Pick<Rendered, 'objects'>, kind: string): Any => objects.find((each) => each.kind === kind);
const workloadOf = (rendered: Rendered): Any => of(rendered, 'Deployment') ?? of(rendered, 'DaemonSet');
const podOf = (rendered: Rendered): Any => workloadOf(rendered).spec.template.spec;
const variablesOf = (container: Any): Record<string, string> =>
  Object.fromEntries(container.env.map(({ name, value }: Any) => [name, value]));

/** The container as its program would be started here: without a cluster, its files are in a folder. */
function started(container: Any, files: string): { args: string[]; environment: Record<string, string> } {
  const given = Object.entries(variablesOf(container)).filter(([, value]) => value !== undefined);
  const environment = Object.fromEntries(given.map(([name, value]) => [name, value.replace('/etc/sluice', files)]));
  return { args: container.args, environment };
}

describe.each(WAYS)('%s', (_, options) => {
  const rendered = renderChart(chart, options);

  test('each object is one that Kubernetes takes, by its schema', () => {
    expect(rendered.objects.length).toBeGreaterThan(0);
    for (const object of rendered.objects) {
      const Model = MODELS[object.kind]!;
      expect(() => new Model(object).validate(), object.kind).not.toThrow();
      expect(object.metadata.namespace).toBe(options.namespace ?? 'default');
      expect(object.metadata.labels).toMatchObject({
        'app.kubernetes.io/name': 'sluice',
        'app.kubernetes.io/instance': options.release ?? 'sluice',
      });
    }
    const names = rendered.objects.map(({ kind, metadata }) => `${kind}/${metadata.name}`);
    expect(new Set(names).size).toBe(names.length);
  });

  test('values are right by the schema of the chart', () => {
    expect([isByTheSchema(rendered.values), isByTheSchema.errors]).toEqual([true, null]);
  });

  test('parts mean each other', () => {
    if (rendered.values.kind === 'None') {
      expect(rendered.objects.map(({ kind }) => kind)).toEqual(['ConfigMap']);
      return;
    }
    const { selector, template } = workloadOf(rendered).spec;
    const { labels } = template.metadata;
    expect(labels).toMatchObject(selector.matchLabels);
    const [container] = podOf(rendered).containers;
    const ports = Object.fromEntries(container.ports.map(({ name, containerPort }: Any) => [name, containerPort]));
    for (const service of rendered.objects.filter(({ kind }) => kind === 'Service')) {
      expect(labels).toMatchObject(service.spec.selector);
      for (const { port, targetPort } of service.spec.ports) expect(ports[targetPort]).toBe(port);
    }
    const { SLUICE_PORT, SLUICE_GRPC_PORT } = variablesOf(container);
    expect([Number(SLUICE_PORT), SLUICE_GRPC_PORT === undefined ? undefined : Number(SLUICE_GRPC_PORT)]).toEqual([
      ports.http,
      ports.grpc,
    ]);
    expect(of(rendered, 'PodDisruptionBudget')?.spec.selector ?? selector).toEqual(selector);
    expect(of(rendered, 'NetworkPolicy')?.spec.podSelector ?? selector).toEqual(selector);
    expect(of(rendered, 'ServiceMonitor')?.spec.selector ?? selector).toEqual(selector);
    expect(
      of(rendered, 'HorizontalPodAutoscaler')?.spec.scaleTargetRef.name ?? workloadOf(rendered).metadata.name,
    ).toBe(workloadOf(rendered).metadata.name);
    const volumes = podOf(rendered).volumes.map(({ name }: Any) => name);
    for (const { name } of container.volumeMounts) expect(volumes).toContain(name);
    expect(podOf(rendered).serviceAccountName).toBe(of(rendered, 'ServiceAccount').metadata.name);
  });

  test('every flag, variable and secret key is one that the program and the chart know', () => {
    const containers = rendered.values.kind === 'None' ? [] : podOf(rendered).containers;
    for (const { args, env } of containers) {
      expect(args[0]).toBe('serve');
      for (const arg of args.slice(1)) expect(Object.keys(SERVE_FLAGS)).toContain(/^--([a-z-]+)/.exec(arg)?.[1]);
      for (const { name, valueFrom } of env) {
        if (name.startsWith('SLUICE_')) expect(VARIABLES).toContain(name);
        if (valueFrom === undefined) continue;
        const { name: secret, key } = valueFrom.secretKeyRef;
        if (rendered.values.existingSecret === '')
          expect(of(rendered, 'Secret').stringData, secret).toHaveProperty(key);
        else expect([secret, ['token', 'redis'].includes(key)]).toEqual([rendered.values.existingSecret, true]);
      }
    }
  });
});

test('no object has a field that Kubernetes does not know: the types of its API refuse it', async () => {
  const cache = join(root, '.cache', 'helm-types');
  mkdirSync(cache, { recursive: true });
  const all = WAYS.flatMap(([, options]) => renderChart(chart, options).objects);
  const lines = all.map(
    (object, index) =>
      `export const o${index}: import('${TYPES[object.kind]}').I${object.kind} = ${JSON.stringify(object)};`,
  );
  const check = async (text: string): Promise<string> => {
    const file = join(cache, `rendered-${process.pid}.ts`);
    writeFileSync(file, text);
    const args = [
      '--noEmit',
      '--strict',
      '--skipLibCheck',
      '--module',
      'nodenext',
      '--types',
      'node',
      '--ignoreConfig',
      file,
    ];
    return promisify(execFile)(join(root, 'node_modules/.bin/tsc'), args, { cwd: root })
      .then(
        () => '',
        ({ stdout }) => String(stdout),
      )
      .finally(() => rmSync(file));
  };
  expect(await check(lines.join('\n'))).toBe('');
  const wrong = lines.join('\n').replace('"enableServiceLinks":', '"enableServiceLink":');
  expect(await check(wrong)).toContain(`'"enableServiceLink"' does not exist`);
});

describe('what would not do what it looks like is refused', () => {
  test.each([
    [{}, 'There is no token'],
    [{ token: 'abc' }, 'Without Redis each pod counts by itself'],
    [{ token: 'abc', replicas: 1, autoscaling: { enabled: true } }, 'Without Redis'],
    [{ ...valuesOf('daemonset'), token: 'abc' }, 'Without Redis'],
    [{ token: 'abc', redis: { fromSecret: true } }, 'redis.fromSecret needs existingSecret'],
    [{ existingSecret: 'a', redis: { url: 'redis://r' } }, 'set redis.fromSecret=true'],
    [{ ...SECRET, token: 'abc' }, 'Set existingSecret or token, not both'],
  ])('%j', (values, message) => {
    expect(() => renderChart(chart, { values: [values] })).toThrow(message);
  });

  test.each([
    [{ replica: 3 }],
    [{ kind: 'StatefulSet' }],
    [{ files: { 'policies.txt': '' } }],
    [{ redis: { url: 'localhost:6379' } }],
    [{ token: 'two words' }],
    [{ settings: { '--deadline': '1s' } }],
    [{ service: { httpPort: 0 } }],
    [{ allowedHosts: ['http://x'] }],
  ])('%j is not by the schema', (values) => {
    const merged = chartContext(chart, { values: [values] }).Values;
    expect(isByTheSchema(merged)).toBe(false);
  });

  test('there is no secret in it that deploys as it is', () => {
    for (const file of readdirSync(chart, { recursive: true }).map(String)) {
      if (/\.(?:ya?ml|tpl|txt|md)$/.test(file))
        expect(readFileSync(join(chart, file), 'utf8')).not.toMatch(/change-?me|password: \S/i);
    }
  });
});

describe('the program under what the chart says', () => {
  let redis: RunningServer;
  beforeAll(async () => {
    redis = await startServer({ kind: 'redis' });
  });
  afterAll(() => redis?.stop());

  test('starts with the args, the variables and the files of the pod, answers its probes, and under the names of its Service', async () => {
    const rendered = renderChart(chart, { values: [SECRET, { settings: { deadline: '30s', 'log-requests': false } }] });
    for (const [name, text] of Object.entries<string>(of(rendered, 'ConfigMap').data))
      writeFileSync(join(folder, name), text);
    expect(await sluice('check', folder)).toMatchObject({ code: 0 });
    const [container] = podOf(rendered).containers;
    const { args, environment } = started(container, folder);
    const free = { SLUICE_PORT: '0', SLUICE_GRPC_PORT: '0', SLUICE_TOKEN: 'abc', SLUICE_REDIS: redis.url };
    const server = await serve(args.slice(1), { ...environment, ...free });
    for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe']) {
      const { path } = container[probe].httpGet;
      expect([probe, (await ask(server.url + path, {})).status]).toEqual([probe, 200]);
    }
    const body = JSON.stringify({ policy: 'api', key: 'a' });
    expect((await ask(`${server.url}/v1/attempt`, { method: 'POST', body })).body).toMatchObject({
      allowed: true,
      source: 'store',
    });
    expect((await ask(server.url, {})).status).toBe(404);
    await server.stop();
    expect(server.logs().filter(({ level }) => level !== 'info')).toEqual([]);
  });

  test('the pod ends later than it stops taking traffic and drains', async () => {
    const rendered = renderChart(chart, { values: [SECRET, { drainSeconds: 1 }] });
    const pod = podOf(rendered);
    const { command } = pod.containers[0].lifecycle.preStop.exec;
    const DRAIN_SECONDS = 10;
    expect(pod.terminationGracePeriodSeconds).toBeGreaterThan(Number(command[1]) + DRAIN_SECONDS);
    // It starts no Node, and is there on every machine.
    expect(command[0]).toBe('sleep');
    await promisify(execFile)(command[0], command.slice(1));
  });

  test('with TLS the files are where the Secret has them', () => {
    const rendered = renderChart(chart, { values: [EVERYTHING], apiVersions: OPERATOR });
    const [container] = podOf(rendered).containers;
    const { mountPath } = container.volumeMounts.find(({ name }: Any) => name === 'sluice-tls');
    const { SLUICE_TLS_CERT, SLUICE_TLS_KEY } = variablesOf(container);
    expect([SLUICE_TLS_CERT, SLUICE_TLS_KEY]).toEqual([`${mountPath}/tls.crt`, `${mountPath}/tls.key`]);
    expect(container.readinessProbe.httpGet.scheme).toBe('HTTPS');
    expect(of(rendered, 'ServiceMonitor').spec.endpoints[0]).toMatchObject({ scheme: 'https', path: '/metrics' });
    expect(container.args).toEqual([
      'serve',
      '--deadline=100ms',
      '--fallback=allow',
      '--log-requests',
      '--max-keys=5000',
    ]);
  });
});

describe('what the pages say', () => {
  const PAGES = ['docs/operate/kubernetes.md', 'deploy/helm/sluice/README.md'];
  const text = PAGES.map((page) => readFileSync(join(root, page), 'utf8')).join('\n');
  const commands = [...text.matchAll(/^helm (?:install|upgrade) .*$/gm)].map(([command]) => command);

  /** As helm reads them: files first, then --set. */
  const valuesIn = (command: string): object[] => {
    const files = [...command.matchAll(/ -f (\S+)/g)].map(([, file]) => parse(readFileSync(join(root, file!), 'utf8')));
    const sets = [...command.matchAll(/ --set ([\w.]+)=(\S+)/g)].map(([, path, value]) =>
      path!.split('.').reduceRight<Any>((inner, name) => ({ [name]: inner }), parse(value!)),
    );
    return [...files, ...sets];
  };

  test('there are commands', () => {
    expect(commands.length).toBeGreaterThan(3);
  });

  test.each(commands)('%s', (command) => {
    const [, folder] = /^helm \w+ sluice (\S+)/.exec(command)!;
    const { objects, values } = renderChart(join(root, folder!), { values: valuesIn(command) });
    expect(objects.length).toBeGreaterThan(3);
    expect(isByTheSchema(values)).toBe(true);
    expect(values).toMatchObject({ existingSecret: 'sluice', redis: { fromSecret: true } });
    expect(text).toMatch(/create secret generic sluice .*--from-literal=token=.*--from-literal=redis=/);
  });

  const blocks = [...text.matchAll(/```yaml\n# (values\.yaml|Envoy)\n([\s\S]*?)```/g)];
  test.each(blocks.map(([, what, block]) => [what!, parse(block!)]))('%s: %j', async (what, block) => {
    const rendered = renderChart(chart, { values: what === 'Envoy' ? [SECRET] : [block] });
    if (what === 'Envoy') {
      const { address, port_value: port } =
        block.load_assignment.endpoints[0].lb_endpoints[0].endpoint.address.socket_address;
      const headless = rendered.objects.find(({ metadata }) => metadata.name === address);
      expect(headless.spec).toMatchObject({ clusterIP: 'None', ports: [{ name: 'grpc', port }] });
      return;
    }
    expect(isByTheSchema(rendered.values)).toBe(true);
    const file = join(folder, 'page.yaml');
    writeFileSync(file, of(rendered, 'ConfigMap').data['policies.yaml']);
    expect(await sluice('check', file)).toMatchObject({ code: 0 });
    for (const flag of Object.keys(rendered.values.settings)) expect(Object.keys(SERVE_FLAGS)).toContain(flag);
  });

  test('every yaml block is one of these', () => {
    expect(blocks).toHaveLength([...text.matchAll(/```yaml\n/g)].length);
  });
});

describe('what it brings along', () => {
  const production = renderChart(chart, { values: [valuesOf('production')], apiVersions: OPERATOR });

  test('the alerts and the dashboard, unchanged', () => {
    const file = (name: string): string => readFileSync(join(chart, 'files', name), 'utf8');
    expect(of(production, 'PrometheusRule').spec).toEqual(parse(file('alerts.yaml')));
    const dashboard = production.objects.find(({ metadata }) => metadata.name === 'sluice-dashboard');
    expect(JSON.parse(dashboard.data['sluice.json'])).toEqual(JSON.parse(file('dashboard.json')));
    expect(dashboard.metadata.labels.grafana_dashboard).toBe('1');
  });

  test('a Service without an address, for clients that balance gRPC; none where there is nothing to balance', () => {
    const headless = (rendered: Rendered) => rendered.objects.filter(({ spec }) => spec?.clusterIP === 'None');
    expect(headless(production)).toMatchObject([
      { metadata: { name: 'sluice-headless' }, spec: { ports: [{ name: 'grpc', port: 8081 }] } },
    ]);
    const daemonset = renderChart(chart, { values: [valuesOf('daemonset'), SECRET] });
    expect(headless(daemonset)).toEqual([]);
    expect(of(daemonset, 'Service').spec.internalTrafficPolicy).toBe('Local');
  });

  test('without the operator, nothing of its', () => {
    const { objects } = renderChart(chart, { values: [valuesOf('production')] });
    expect(objects.some(({ apiVersion }) => apiVersion.startsWith('monitoring'))).toBe(false);
  });

  test('notes that name what there is', () => {
    expect(production.notes).toContain('rollout status Deployment/sluice');
    expect(production.notes).toContain('address: sluice-headless.default, port: 8081');
    expect(renderChart(chart, { values: [{ withoutToken: true, replicas: 1 }] }).notes).toMatch(
      /There is no Redis[\s\S]*There is no token/,
    );
    expect(renderChart(chart, { values: [valuesOf('sidecar')] }).notes).toContain('No pods were made');
  });

  test('a sidecar: the container in the pod of another chart', () => {
    const app = join(root, 'deploy/helm/examples/sidecar');
    const own = chartContext(app);
    const values = own.Values.sluice;
    const { texts: _, objects } = renderChart(chart, { values: [values] });
    const templates = new Templates();
    templates.add(readFileSync(join(chart, 'templates/_helpers.tpl'), 'utf8'), '_helpers.tpl');
    const { body } = templates.add(readFileSync(join(app, 'templates/deployment.yaml'), 'utf8'), 'deployment.yaml');
    const context = { ...own, Subcharts: { sluice: chartContext(chart, { values: [values] }) } };
    const deployment = parse(templates.render(body, context));
    expect(() => new Deployment(deployment).validate()).not.toThrow();
    const [, container] = deployment.spec.template.spec.containers;
    expect(container).toMatchObject({ name: 'sluice', args: ['serve', '--host=127.0.0.1'] });
    // A pod is not ended because of it, nor taken out of the Service of the program.
    expect(Object.keys(container).filter((key) => key.endsWith('Probe'))).toEqual([]);
    expect(objects.map(({ kind }) => kind).sort()).toEqual(['ConfigMap', 'Secret']);
    expect(deployment.spec.template.spec.volumes[0].configMap.name).toBe(of({ objects }, 'ConfigMap').metadata.name);
    const { repository, version } = parse(readFileSync(join(app, 'Chart.yaml'), 'utf8')).dependencies[0];
    expect(parse(readFileSync(join(app, repository.replace('file://', ''), 'Chart.yaml'), 'utf8')).version).toBe(
      version,
    );
    const { SLUICE_SERVER } = variablesOf(deployment.spec.template.spec.containers[0]);
    expect(SLUICE_SERVER).toBe(`http://127.0.0.1:${variablesOf(container).SLUICE_PORT}`);
  });

  test('the version of the chart is that of the package', () => {
    const { version } = JSON.parse(readFileSync(join(root, 'packages/server/package.json'), 'utf8'));
    expect(parse(readFileSync(join(chart, 'Chart.yaml'), 'utf8'))).toMatchObject({ version, appVersion: version });
  });
});
