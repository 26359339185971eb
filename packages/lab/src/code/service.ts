/** The same limit as a service: a file, how to serve it, and how to ask it. */
import type { CodeChoice, KeyName } from './choice.ts';
import { type Coded, policyYaml } from './policy-code.ts';

const KEYS: Readonly<Record<KeyName, string>> = {
  ip: 'ip',
  'api-key': 'header:x-api-key',
  user: 'header:x-user-id # set by your gateway once it knows who it is',
};

/** `policies.yaml`. */
export function serviceYaml(coded: Coded, { key }: CodeChoice): string {
  return [
    'policies:',
    `  ${coded.kind.id}:`,
    ...policyYaml(coded).map((line) => `    ${line}`),
    '',
    'rules:',
    `  - key: ${coded.kind.shapes ? 'everyone' : KEYS[key]}`,
    `    policy: ${coded.kind.id}`,
    '',
  ].join('\n');
}

/** How it is served, with and without Docker, and how it is asked. */
export function serviceCommands(coded: Coded, { store, key }: CodeChoice, cost: number): string {
  const redis = store === 'memory' ? '' : ' --redis redis://localhost:6379';
  const body = {
    policy: coded.kind.id,
    key: coded.kind.shapes ? 'everyone' : NAMES[key],
    ...(cost === 1 ? {} : { cost }),
  };
  return [
    `npx --package=@sluice/server sluice serve --config policies.yaml${redis}`,
    '',
    '# or in a container, from a clone of the repository',
    'docker build -t sluice .',
    'docker run --rm -p 127.0.0.1:8080:8080 -v ./policies.yaml:/policies.yaml:ro sluice serve --config /policies.yaml',
    '',
    '# ask it',
    `curl -s localhost:8080/v1/attempt -d '${JSON.stringify(body)}'`,
    '',
  ].join('\n');
}

const NAMES: Readonly<Record<KeyName, string>> = { ip: '203.0.113.7', 'api-key': 'abc123', user: 'user-42' };
