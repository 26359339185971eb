/** What the adapters' tests share to run a server: a free port, and an end to it whoever is still connected. */
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Running } from './contract.ts';

export async function listening(server: Server): Promise<Running> {
  if (!server.listening) await new Promise((resolve) => server.once('listening', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    stop: () =>
      new Promise((resolve) => {
        server.close(resolve);
        server.closeAllConnections();
      }),
  };
}
