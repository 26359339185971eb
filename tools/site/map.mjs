/** Which file of the project is which page of the site, and in which section of the sidebar it stands. Files that are not named here appear by being in their folder. */

/** Address by file; a folder's rule takes what no file's rule does. `$1` is the rest of the path. */
const ADDRESSES = [
  ['docs/getting-started.md', '/start/first-limit'],
  ['docs/frameworks.md', '/start/frameworks'],
  ['docs/start/socket.io.md', '/start/socket-io'],
  [/^docs\/start\/(.+)\.md$/, '/start/$1'],
  [/^docs\/(http|verbs|layers|faults|exceptions|unified|own-algorithm)\.md$/, '/learn/$1'],
  [/^docs\/(learn|recipes|operate|compare|algorithms|errors|decisions|service)\/(.+)\.md$/, '/$1/$2'],
  ['docs/llm.md', '/llm/'],
  [/^docs\/llm\/(.+)\.md$/, '/llm/$1'],
  ['docs/stores.md', '/stores/your-own'],
  [/^docs\/engines\/(.+)\.md$/, '/stores/$1'],
  ['docs/service.md', '/service/'],
  ['docs/envoy.md', '/service/envoy'],
  [/^docs\/migrating\/(.+)\.md$/, '/migrate/$1'],
  [/^docs\/(api|semantics|cases)\.md$/, '/reference/$1'],
  ['docs/lab.md', '/learn/lab'],
  [/^docs\/(.+)\.md$/, '/$1'],
  ['bench/RESULTS.md', '/operate/benchmarks'],
  [/^bench\/results\/(.+)\.md$/, '/operate/benchmarks/$1'],
  ['examples/README.md', '/examples'],
  [/^examples\/(gateways.*)\/README\.md$/, '/service/$1/'],
  ['CHANGELOG.md', '/changelog'],
  ['CONTRIBUTING.md', '/contributing'],
  ['ARCHITECTURE.md', '/architecture'],
  ['SECURITY.md', '/security-policy'],
];

/** Files outside docs/ that are pages too. */
export const OUTSIDE = [
  'bench/RESULTS.md',
  'examples/README.md',
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  'ARCHITECTURE.md',
  'SECURITY.md',
];

/** The address of a page, without the base of the site. A README is the page of its folder. Undefined for what is no page. */
export function addressOf(file) {
  if (file === 'README.md') return '/';
  for (const [pattern, address] of ADDRESSES) {
    if (typeof pattern === 'string' ? pattern !== file : !pattern.test(file)) continue;
    return (typeof pattern === 'string' ? address : file.replace(pattern, address)).replace(/\/README$/, '/');
  }
  return undefined;
}

/** What the sidebar calls a page whose title is a sentence. */
export const LABELS = {
  '/start/first-limit': 'Your first production limit',
  '/start/frameworks': 'All frameworks, all options',
  '/start/express': 'Express',
  '/start/fastify': 'Fastify',
  '/start/hono': 'Hono',
  '/start/koa': 'Koa',
  '/start/nest': 'NestJS',
  '/start/next': 'Next.js',
  '/start/node': 'node:http',
  '/start/cloudflare': 'Cloudflare Workers',
  '/start/vercel': 'Vercel',
  '/start/lambda': 'AWS Lambda',
  '/start/bun': 'Bun',
  '/start/deno': 'Deno',
  '/start/sveltekit': 'SvelteKit',
  '/start/elysia': 'Elysia',
  '/start/h3': 'h3, Nitro, Nuxt',
  '/start/trpc': 'tRPC',
  '/start/graphql': 'GraphQL',
  '/start/nest-graphql': 'Nest with GraphQL',
  '/start/websocket': 'WebSocket',
  '/start/socket-io': 'Socket.IO',
  '/start/mcp': 'MCP servers',
  '/start/not-typescript': 'Not TypeScript',
  '/start/': 'Choose your stack',
  '/learn/': 'Overview',
  '/learn/keys': 'Keys: who is limited',
  '/learn/headers': 'Headers and 429s',
  '/learn/several-limits': 'Several limits, plans, costs',
  '/learn/when-redis-fails': 'When Redis fails',
  '/recipes/': 'All recipes',
  '/migrate/': 'Overview',
  '/compare/': 'Overview',
  '/operate/': 'Overview',
  '/operate/production-checklist': 'Production checklist',
  '/operate/behind-a-proxy': 'Behind a proxy',
  '/operate/troubleshooting': 'Troubleshooting',
  '/operate/faq': 'FAQ',
  '/operate/security': 'Security model',
  '/operate/performance': 'Performance',
  '/operate/sizing': 'Sizing',
  '/operate/upgrading': 'Upgrading',
  '/operate/versions': 'Versions',
  '/operate/kubernetes': 'Kubernetes',
  '/operate/metrics': 'Metrics',
  '/learn/http': 'HTTP in full',
  '/learn/verbs': 'Refund, reserve, wait, block',
  '/learn/layers': 'Layers around a store',
  '/learn/faults': 'What an outage costs',
  '/learn/exceptions': 'Exceptions at run time',
  '/learn/unified': 'One function for all algorithms',
  '/learn/own-algorithm': 'Write an algorithm',
  '/learn/lab': 'The lab',
  '/backtest': 'Choose a limit from your traffic',
  '/llm/': 'Language models',
  '/stores/': 'All engines',
  '/stores/memory': 'Memory',
  '/stores/redis': 'Redis and Valkey',
  '/stores/postgres': 'Postgres',
  '/stores/sqlite': 'SQLite',
  '/stores/upstash': 'Upstash',
  '/stores/durable-object': 'Durable Objects',
  '/stores/deno-kv': 'Deno KV',
  '/stores/sharded': 'Several Redis servers',
  '/stores/ports': 'Other engines',
  '/stores/your-own': 'Write a store',
  '/service/': 'HTTP, YAML, command line',
  '/service/envoy': 'Envoy',
  '/service/gateways/': 'nginx, Caddy, HAProxy',
  '/service/gateways/caddy/': 'Caddy',
  '/service/gateways/envoy/': 'Envoy, an example',
  '/service/gateways/haproxy/': 'HAProxy',
  '/service/gateways/nginx/': 'nginx',
  '/operate/benchmarks': 'Benchmarks in full',
  '/reference/api': 'API by example',
  '/reference/semantics': 'Semantics',
  '/reference/cases': 'Behaviour, moment by moment',
  '/errors/': 'Errors and warnings',
};

/** `at` takes addresses by pattern, in the order of `first`, then by label. */
export const SECTIONS = [
  {
    text: 'Start',
    at: /^\/start\/|^\/examples$/,
    first: [
      '/start/',
      '/start/first-limit',
      '/start/express',
      '/start/fastify',
      '/start/hono',
      '/start/koa',
      '/start/nest',
      '/start/next',
      '/start/node',
    ],
    last: ['/start/not-typescript', '/start/frameworks', '/examples'],
  },
  {
    text: 'Learn',
    at: /^\/learn\/|^\/backtest$/,
    first: [
      '/learn/',
      '/learn/which-algorithm',
      '/backtest',
      '/learn/keys',
      '/learn/headers',
      '/learn/several-limits',
      '/learn/when-redis-fails',
    ],
    last: [
      '/learn/http',
      '/learn/layers',
      '/learn/verbs',
      '/learn/exceptions',
      '/learn/unified',
      '/learn/own-algorithm',
      '/learn/lab',
    ],
  },
  { text: 'Algorithms', at: /^\/algorithms\//, first: ['/algorithms/'], isFolded: true },
  { text: 'Recipes', at: /^\/recipes\//, first: ['/recipes/'] },
  { text: 'LLM', at: /^\/llm\//, first: ['/llm/'] },
  { text: 'Stores', at: /^\/stores\//, first: ['/stores/'], last: ['/stores/ports', '/stores/your-own'] },
  { text: 'Service', at: /^\/service\//, first: ['/service/', '/service/envoy', '/service/gateways/'] },
  { text: 'Migrate', at: /^\/migrate\//, first: ['/migrate/'] },
  {
    text: 'Operate',
    at: /^\/operate\//,
    first: ['/operate/', '/operate/production-checklist', '/operate/behind-a-proxy'],
    last: ['/operate/benchmarks'],
  },
  { text: 'Compare', at: /^\/compare\//, first: ['/compare/'] },
  {
    text: 'Reference',
    at: /^\/reference\//,
    first: ['/reference/', '/reference/api'],
    last: ['/reference/semantics', '/reference/cases'],
    isFolded: true,
  },
  { text: 'Errors', at: /^\/errors\/$/, first: ['/errors/'] },
  {
    text: 'Project',
    at: /^\/(changelog|contributing|architecture|security-policy|decisions\/)$/,
    first: ['/changelog', '/contributing', '/architecture', '/security-policy', '/decisions/'],
    isFolded: true,
  },
];

/** Found by search, and by the page that lists them. */
const UNLISTED = /^\/(errors|decisions|operate\/benchmarks)\/./;

/** The sidebar of pages with an address and a title each; and the addresses that no section takes. */
export function sidebarOf(pages) {
  const rest = new Map(pages.filter(({ address }) => !UNLISTED.test(address)).map((page) => [page.address, page]));
  const sections = SECTIONS.map(({ text, at, first, last = [], isFolded = false }) => {
    const own = [...rest.values()].filter(({ address }) => at.test(address));
    for (const { address } of own) rest.delete(address);
    const placeOf = ({ address }) => {
      if (first.includes(address)) return first.indexOf(address);
      return last.includes(address) ? 2_000 + last.indexOf(address) : 1_000;
    };
    const items = own
      .map(({ address, title }) => ({ address, link: address, text: LABELS[address] ?? title }))
      .sort((one, other) => placeOf(one) - placeOf(other) || one.text.localeCompare(other.text));
    return { text, collapsed: isFolded, items: items.map(({ link, text: label }) => ({ link, text: label })) };
  });
  return { sections: sections.filter(({ items }) => items.length > 0), homeless: [...rest.keys()] };
}
