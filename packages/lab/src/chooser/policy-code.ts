/** The chosen policy as code, with where its state is kept. */
import { codeOf } from '../config/code.ts';
import type { Recommendation } from './recommend.ts';

export const LANGUAGES = ['TypeScript', 'YAML'] as const;
export type Language = (typeof LANGUAGES)[number];

export function policyCode(language: Language, recommendation: Recommendation): string {
  const { card, policy, isShared } = recommendation;
  const code = withRate(codeOf(language, card, policy, 1, ''), language, recommendation);
  if (!isShared) return language === 'YAML' ? `# sluice serve --config policies.yaml\n${code}` : code;
  return language === 'YAML'
    ? `# sluice serve --config policies.yaml --redis redis://localhost:6379\n${code}`
    : onRedis(code);
}

/** A hundred a minute is not 1.6666666666666667 a second to whoever reads it. */
function withRate(code: string, language: Language, { policy, draft }: Recommendation): string {
  const [name, perSecond] =
    policy.algorithm === 'token-bucket'
      ? ['refillRate', policy.refillRate]
      : policy.algorithm === 'leaky-bucket'
        ? ['leakRate', policy.leakRate]
        : [];
  if (name === undefined) return code;
  return code.replace(`${name}: ${perSecond}`, `${name}: ${language === 'YAML' ? draft[name] : `'${draft[name]}'`}`);
}

function onRedis(code: string): string {
  const [imports = '', ...rest] = code.split('\n\n');
  const connected = 'const client = await createClient({ url: process.env.REDIS_URL }).connect();';
  const limiter = rest.join('\n\n').replace('\n});', '\n  store: redisStore(client),\n});');
  return [
    `import { createClient } from 'redis';\n${imports}\nimport { redisStore } from 'sluice/node-redis';`,
    connected,
    limiter,
  ].join('\n\n');
}
