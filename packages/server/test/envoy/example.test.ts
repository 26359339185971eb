/** The example for Envoy: its config has none but fields that Envoy knows, and what it makes Envoy ask is answered as the limits say. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { loadSync } from '@grpc/proto-loader';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { answerText, askedOf } from './cases.ts';
import { startEnvoy } from './support.ts';

const textOf = (name: string): string =>
  readFileSync(new URL(`../../../../examples/gateways/envoy/${name}`, import.meta.url), 'utf8');

interface Message {
  readonly name: string;
  readonly field: readonly Field[];
  readonly nestedType: readonly Message[];
  readonly enumType: readonly Enum[];
  readonly options?: { readonly mapEntry?: boolean } | null;
}
interface Enum {
  readonly name: string;
  readonly value: readonly { readonly name: string }[];
}
interface Field {
  readonly name: string;
  readonly label: string;
  readonly type: string;
  readonly typeName: string;
}

const xds = dirname(createRequire(import.meta.url).resolve('@grpc/grpc-js-xds/package.json'));
const definitions = loadSync(
  [
    'envoy/config/bootstrap/v3/bootstrap.proto',
    'envoy/extensions/filters/http/ratelimit/v3/rate_limit.proto',
    'envoy/extensions/filters/http/router/v3/router.proto',
    'envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager.proto',
    'envoy/extensions/upstreams/http/v3/http_protocol_options.proto',
  ],
  {
    keepCase: true,
    includeDirs: ['envoy-api', 'googleapis', 'protoc-gen-validate', 'xds'].map((name) => join(xds, 'deps', name)),
  },
);

/** Every message and enum by its whole name. */
const types = new Map<string, Message | Enum>();
function index(name: string, type: Message | Enum): void {
  types.set(name, type);
  if (!('nestedType' in type)) return;
  for (const inner of [...type.nestedType, ...type.enumType]) index(`${name}.${inner.name}`, inner);
}
for (const [name, definition] of Object.entries(definitions)) {
  if ('type' in definition) index(name, definition.type as Message);
}

/** Names in protos are looked for from the inside out. */
function typeNamed(name: string, scope: string): string {
  if (types.has(name)) return name;
  for (let within = scope; within !== ''; within = within.slice(0, Math.max(0, within.lastIndexOf('.')))) {
    if (types.has(`${within}.${name}`)) return `${within}.${name}`;
  }
  throw new Error(`no type ${name} in ${scope}`);
}

const SCALARS: Readonly<Record<string, string>> = {
  TYPE_STRING: 'string',
  TYPE_BOOL: 'boolean',
  'google.protobuf.BoolValue': 'boolean',
  'google.protobuf.Duration': 'string',
  'google.protobuf.StringValue': 'string',
};

/** What is wrong with a value of this message, by its path. */
function mistakes(value: unknown, messageName: string, path: string): string[] {
  const scalar = SCALARS[messageName] ?? (/^TYPE_|\.U?Int\d+Value$/.test(messageName) ? 'number' : undefined);
  if (scalar !== undefined) return typeof value === scalar ? [] : [`${path}: expected a ${scalar}`];
  if (messageName === 'google.protobuf.Any') {
    const { '@type': type, ...fields } = value as Record<string, unknown>;
    return mistakes(fields, String(type).replace('type.googleapis.com/', ''), path);
  }
  const type = types.get(messageName);
  if (type === undefined) return [`${path}: there is no ${messageName}`];
  if ('value' in type) {
    return type.value.some(({ name }) => name === value) ? [] : [`${path}: ${messageName} has no ${String(value)}`];
  }
  if (typeof value !== 'object' || value === null) return [`${path}: expected a ${messageName}`];
  return Object.entries(value).flatMap(([name, item]) => {
    const field = type.field.find((known) => known.name === name);
    if (field === undefined) return [`${path}.${name}: ${messageName} has no such field`];
    return fieldMistakes(item, field, messageName, `${path}.${name}`);
  });
}

function fieldMistakes(value: unknown, field: Field, scope: string, path: string): string[] {
  const name = field.typeName === '' ? field.type : typeNamed(field.typeName, scope);
  const type = types.get(name);
  if (type !== undefined && 'field' in type && type.options?.mapEntry === true) {
    const of = type.field.find((known) => known.name === 'value')!;
    return Object.entries(value as object).flatMap(([key, item]) =>
      fieldMistakes(item, { ...of, label: '' }, name, `${path}.${key}`),
    );
  }
  if (field.label !== 'LABEL_REPEATED') return mistakes(value, name, path);
  if (!Array.isArray(value)) return [`${path}: expected a list`];
  return value.flatMap((item, index) => mistakes(item, name, `${path}[${index}]`));
}

const BOOTSTRAP = 'envoy.config.bootstrap.v3.Bootstrap';

test('envoy.yaml has none but fields and values that Envoy knows', () => {
  expect(mistakes(parse(textOf('envoy.yaml')), BOOTSTRAP, '')).toEqual([]);
});

test.each([
  ['domain: shop', 'domian: shop', /\.domian: .*RateLimit has no such field/],
  ['DRAFT_VERSION_03', 'DRAFT_VERSION_99', /XRateLimitHeadersRFCVersion has no DRAFT_VERSION_99/],
  ['v3.Router', 'v3.Rooter', /there is no .*Rooter/],
  ['port_value: 8081', 'port_value: many', /port_value: expected a number/],
])('and a mistake would be seen: %s', (right, wrong, expected) => {
  const [mistake, ...others] = mistakes(parse(textOf('envoy.yaml').replace(right, wrong)), BOOTSTRAP, '');
  expect(mistake).toMatch(expected);
  expect(others).toEqual([]);
});

test('the limits answer what the filter asks', async () => {
  const service = await startEnvoy(textOf('ratelimit.yaml'));
  const login = ['remote_address=10.0.0.1', 'path=/login,remote_address=10.0.0.1', 'path=/login'];
  for (let left = 4; left >= 0; left--) {
    expect(answerText(await service.grpc(askedOf({ ask: login, expect: '' })))).toBe(
      `OK: OK ${left + 95}/10 SECOND 1s "by-address"; OK ${left}/5 MINUTE 60s; OK -`,
    );
  }
  expect(answerText(await service.grpc(askedOf({ ask: login, expect: '' })))).toBe(
    'OVER_LIMIT: OK 95/10 SECOND 1s "by-address"; OVER_LIMIT 0/5 MINUTE 60s; OK -',
  );
  const keys = [
    'remote_address=10.0.0.1',
    'api_key=a',
    'api_key=partner-1',
    'api_key=our-own-monitoring',
    'path=/search?q=x',
  ];
  expect(answerText(await service.grpc(askedOf({ ask: keys, expect: '' })))).toBe(
    'OK: OK -; OK 999/1000 HOUR 2800s; OK 99999/100000 HOUR 2800s; OK unlimited; OK 49/50 SECOND 1s',
  );
  await service.stop();
});
