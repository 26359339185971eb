/**
 * A client of a fleet, as a process: `node fleet-client.mjs ASKS URL...`. It asks every server in turn, several at once, in every way there is
 * to spend, and prints how many units it was given and who said so.
 */
const [asks, ...urls] = process.argv.slice(2);
const IN_FLIGHT = 8;
const BATCH = 5;
const item = { policy: 'shared', key: 'everyone' };
const seen = { units: 0, refused: 0, sources: {} };

function count({ allowed, source, error }, units = 1) {
  if (error !== undefined) throw new Error(`refused to answer: ${error}`);
  seen[allowed ? 'units' : 'refused'] += units;
  if (source !== undefined) seen.sources[source] = (seen.sources[source] ?? 0) + 1;
}

const post = async (url, body) => {
  const response = await fetch(`${url}/v1/attempt`, { method: 'POST', body: JSON.stringify(body) });
  if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
  return response.json();
};

const WAYS = [
  async (url) => count(await post(url, item)),
  async (url) => count(await post(url, { ...item, cost: 3 }), 3),
  async (url) => {
    for (const answer of await post(url, Array(BATCH).fill(item))) count(answer);
  },
  async (url) => {
    const response = await fetch(`${url}/v1/check/shared?key=everyone`);
    if (response.status !== 200 && response.status !== 429) throw new Error(`${response.status}`);
    const { source } = await response.json();
    count({ allowed: response.status === 200, source });
  },
];

let next = 0;
async function ask() {
  while (next < Number(asks)) {
    const turn = next++;
    await WAYS[turn % WAYS.length](urls[Math.floor(turn / WAYS.length) % urls.length]);
  }
}

await Promise.all(Array.from({ length: IN_FLIGHT }, ask));
console.log(JSON.stringify(seen));
