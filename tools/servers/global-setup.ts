/** Before any test: both servers, the gateways and a browser are there, or the run ends here and says what to install. */

import { findBrowser } from '../browser.ts';
import { findGateway, findServer, type GatewayKind, type ServerKind } from './index.ts';

export async function setup(): Promise<void> {
  for (const kind of ['redis', 'valkey'] satisfies ServerKind[]) {
    const { server, version } = await findServer(kind);
    console.log(`${kind} ${version} (${server})`);
  }
  for (const kind of ['nginx', 'caddy', 'haproxy'] satisfies GatewayKind[]) {
    console.log(`${kind} (${(await findGateway(kind)).file})`);
  }
  const { program, version } = await findBrowser();
  console.log(`chromium ${version} (${program})`);
}
