/** The store contract, through every client on every shape of server. Each case has a prefix, so it finds the store empty. */
import { afterAll, beforeAll, describe, test } from 'vitest';
import { storeContract } from '../../src/testing/index.ts';
import { type Connection, SERVER_KINDS, serversOf, TOPOLOGIES } from './support/topologies.ts';

let cases = 0;

describe.each(SERVER_KINDS)('%s', (kind) => {
  const servers = serversOf(kind);
  afterAll(() => servers.stop());

  describe.each(TOPOLOGIES.filter((topology) => topology.kind === kind))('$title', (topology) => {
    let connection: Connection;
    beforeAll(async () => {
      connection = await topology.connect(servers);
    });
    afterAll(() => connection.close());

    const contract = storeContract(({ clock }) => {
      cases += 1;
      return connection.store({ clock, prefix: `contract-${cases}` });
    });
    for (const { name, run } of contract) test(name, run);
  });
});
