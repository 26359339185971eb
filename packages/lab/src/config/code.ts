/** A card as code: TypeScript for the library, YAML for `sluice serve`, curl for its HTTP API. */
import type { Policy } from 'sluice';
import { type CardId, durationText, rateText } from '../cards/catalog.ts';

export const LANGUAGES = ['TypeScript', 'YAML', 'curl'] as const;
export type Language = (typeof LANGUAGES)[number];

export function codeOf(language: Language, id: CardId, policy: Policy, cost: number, host: string): string {
  switch (language) {
    case 'TypeScript':
      return typeScriptOf(policy, cost);
    case 'YAML':
      return yamlOf(id, policy);
    case 'curl':
      return curlOf(policy, cost, host);
  }
}

const FUNCTIONS: Readonly<Record<Policy['algorithm'], string>> = {
  'fixed-window': 'fixedWindow',
  'sliding-window-log': 'slidingWindowLog',
  'sliding-window-counter': 'slidingWindowCounter',
  'token-bucket': 'tokenBucket',
  'leaky-bucket': 'leakyBucket',
  gcra: 'gcra',
};

/** The fields as a person would write them: no name that is the default's, no default, durations with a unit. */
export function fieldsOf(policy: Policy): readonly (readonly [string, string | number])[] {
  const { name: _, algorithm, ...fields } = policy;
  return Object.entries(fields as Record<string, string | number>)
    .filter(([field, value]) => !(algorithm === 'fixed-window' && field === 'align' && value === 'epoch'))
    .filter(([field, value]) => !(algorithm === 'leaky-bucket' && field === 'mode' && value === 'policing'))
    .map(([field, value]) => [field, TEXTS[field]?.(value as number) ?? value]);
}

const TEXTS: Readonly<Record<string, (value: number) => string | number>> = {
  window: durationText,
  period: durationText,
  refillRate: rateText,
  leakRate: rateText,
};

function typeScriptOf(policy: Policy, cost: number): string {
  const make = FUNCTIONS[policy.algorithm];
  const options = fieldsOf(policy).map(
    ([field, value]) => `${field}: ${typeof value === 'string' ? `'${value}'` : value}`,
  );
  const shapes = policy.algorithm === 'leaky-bucket' && policy.mode === 'shaping';
  const costOption = cost === 1 ? '' : `, { cost: ${cost} }`;
  return [
    `import { createLimiter, ${make} } from 'sluice';`,
    '',
    'const limiter = createLimiter({',
    `  policy: ${make}({ ${options.join(', ')} }),`,
    '});',
    '',
    `const { allowed, ${shapes ? 'delay' : 'retryAfter'} } = await limiter.attempt('user:42'${costOption});`,
    ...(shapes ? ['// Allowed to act in `delay` seconds; null: at once.'] : []),
  ].join('\n');
}

function yamlOf(id: CardId, policy: Policy): string {
  const fields = fieldsOf(policy).map(([field, value]) => `    ${field}: ${value}`);
  return [
    'policies:',
    `  ${id}:`,
    `    algorithm: ${policy.algorithm}`,
    ...fields,
    '',
    'rules:',
    '  - key: ip',
    `    policy: ${id}`,
  ].join('\n');
}

function curlOf(policy: Policy, cost: number, host: string): string {
  const body = {
    key: 'user:42',
    ...(cost === 1 ? {} : { cost }),
    policy: { algorithm: policy.algorithm, ...Object.fromEntries(fieldsOf(policy)) },
  };
  return `curl -s ${host}/v1/attempt -d '${JSON.stringify(body)}'`;
}
