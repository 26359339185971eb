/**
 * Before the whole suite, and only then: both servers, the gateways and a browser are there, or the run ends here and says what to install. A run
 * of some tests needs nothing of this: a test that needs a server asks for it itself.
 */

import { findBrowser } from '../browser.ts';
import { describePostgres, findGateway, findServer, findShell, type GatewayKind, type ServerKind } from './index.ts';
import { findPrometheus } from './prometheus.ts';

export async function setup(): Promise<void> {
  // `npm test` says so when it was given no filter.
  if (process.env.TESTS_WHOLE_SUITE !== '1') return;
  for (const kind of ['redis', 'valkey'] satisfies ServerKind[]) {
    const { server, version } = await findServer(kind);
    console.log(`${kind} ${version} (${server})`);
  }
  console.log(await describePostgres());
  for (const kind of ['nginx', 'caddy', 'haproxy'] satisfies GatewayKind[]) {
    console.log(`${kind} (${(await findGateway(kind)).file})`);
  }
  for (const kind of ['zsh', 'fish'] as const) console.log(`${kind} (${(await findShell(kind)).file})`);
  console.log(`prometheus (${(await findPrometheus()).file})`);
  const { program, version } = await findBrowser();
  console.log(`chromium ${version} (${program})`);
}
