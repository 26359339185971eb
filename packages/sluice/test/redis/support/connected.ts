/** Servers of one kind and a client on them, from the first test of a suite to its last. */
import { afterAll, beforeAll } from 'vitest';
import { type Connection, type SERVER_KINDS, type Servers, serversOf, TOPOLOGIES } from './topologies.ts';

export interface Connected {
  readonly servers: Servers;
  /** Only within a test. */
  connection(): Connection;
}

export function connectedTo(kind: (typeof SERVER_KINDS)[number], client = 'ioredis client'): Connected {
  const servers = serversOf(kind);
  let connection: Connection;
  beforeAll(async () => {
    connection = await TOPOLOGIES.find(({ title }) => title === `${client} on ${kind}`)!.connect(servers);
  });
  afterAll(async () => {
    await connection.close();
    await servers.stop();
  });
  return { servers, connection: () => connection };
}
