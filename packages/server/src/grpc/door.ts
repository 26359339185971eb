/** Where connections come in. */
import type { Http2SecureServer, Http2Server } from 'node:http2';
import { type AddressInfo, createServer as createNetServer, type Server as NetServer } from 'node:net';
import type { Calls } from './calls.ts';

/** A port, or the path of a Unix socket. */
export type Address = { readonly port: number; readonly host: string } | { readonly path: string };

/** Connections come through here, so that one can be closed. */
export function doorOf(server: Http2Server | Http2SecureServer, calls: Calls): NetServer {
  return createNetServer((socket) => {
    // A client that goes away is no error of ours.
    socket.on('error', () => {});
    if (calls.admits(socket)) server.emit('connection', socket);
    else socket.destroy();
  });
}

export function listen(door: NetServer, address: Address): Promise<number> {
  return new Promise((resolve, reject) => {
    door.once('error', (error) => {
      reject(new Error(`cannot listen for gRPC on ${addressText(address)}: ${error.message}`));
    });
    const isOpen = (): void => resolve('path' in address ? 0 : (door.address() as AddressInfo).port);
    if ('path' in address) door.listen(address.path, isOpen);
    else door.listen(address.port, address.host, isOpen);
  });
}

function addressText(address: Address): string {
  if ('path' in address) return address.path;
  return `${address.host.includes(':') ? `[${address.host}]` : address.host}:${address.port}`;
}
