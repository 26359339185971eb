/** Before any test: both servers are there, or the run ends here and says what to install. */

import { findServer, type ServerKind } from './index.ts';

export async function setup(): Promise<void> {
  for (const kind of ['redis', 'valkey'] satisfies ServerKind[]) {
    const { server, version } = await findServer(kind);
    console.log(`${kind} ${version} (${server})`);
  }
}
