/** llms.txt and llms-full.txt, for programs that read documentation: an index with a line for each page, and the pages that say how to use Sluice in one file. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { addressOf, LABELS, SECTIONS } from '../site/map.mjs';
import { projectPages, titleOf } from '../site/stage.mjs';
import { piecesOf, readable, sentencesOf } from './prose.mjs';

/** What nobody asks who wants to use it. */
const LEFT_OUT = /^\/(decisions|reference\/cases|contributing|architecture|operate\/benchmarks)/;
/** And what is too long to be read as a whole. */
const NOT_IN_FULL = /^\/(errors\/.|changelog|reference\/semantics)/;

const HEAD = `# Sluice

> Rate limiting for TypeScript: \`npm install sluice\`. Eight algorithms, in memory, on Redis, Valkey, Postgres, SQLite, Upstash, Durable Objects and Deno KV, with middleware for Express, Fastify, Hono, Koa, Nest, Next.js, fetch and node:http. It keeps answering when the store does not. For other languages there is a service over HTTP and gRPC: \`npx @sluice/server serve\`.

- \`createLimiter({ policy, store })\` makes a limiter; \`await limiter.attempt(key)\` returns \`{ allowed, remaining, retryAfter }\` and never throws because a limit is reached.
- Durations are text (\`'1m'\`, \`'15m'\`, \`'1d'\`) or milliseconds; results are in seconds.
- Without \`store\`, a limit is kept in the memory of one process. Give \`store: redisStore(client)\` for a limit that all processes share.
- Add \`client.on('error', ...)\` to every node-redis client. Behind a proxy, set \`trust proxy\` or \`byIp({ trustedProxies: 1 })\`.
`;

/** Pages with their address, title and the first sentences, by section. */
export function llmsIndex(root, base = '/') {
  const pages = pagesOf(root);
  const parts = SECTIONS.map(({ text, at }) => {
    const lines = pages
      .filter(({ address }) => at.test(address))
      .map(
        ({ address, title, about }) =>
          `- [${LABELS[address] ?? title}](${base.replace(/\/$/, '')}${address}): ${about}`,
      );
    return lines.length === 0 ? '' : `\n## ${text}\n\n${lines.join('\n')}\n`;
  });
  return `${HEAD}${parts.join('')}`;
}

export function llmsFull(root) {
  const pages = pagesOf(root).filter(({ address }) => !NOT_IN_FULL.test(address));
  const sorted = SECTIONS.flatMap(({ at }) => pages.filter(({ address }) => at.test(address)));
  return [HEAD, ...sorted.map(({ address, text }) => `\n---\nPage: ${address}\n\n${text.trim()}\n`)].join('');
}

function pagesOf(root) {
  return projectPages(root)
    .map((file) => {
      const text = readFileSync(join(root, file), 'utf8').replace(/^<!--.*?-->\n+/s, '');
      return { address: addressOf(file), title: titleOf(text), about: aboutOf(text), text };
    })
    .filter(({ address }) => !LEFT_OUT.test(address));
}

/** The first sentence of the first paragraph. */
function aboutOf(text) {
  const first = piecesOf(text).find(({ kind }) => kind === 'paragraph');
  if (first === undefined) return '';
  // With code as it is: names are what is looked for.
  const [sentence] = sentencesOf({ ...first, text: first.text.replaceAll('`', '') });
  return readable(sentence?.text ?? '');
}
