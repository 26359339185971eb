/** Real nginx, Caddy and HAProxy for tests. */

import { type FoundProgram, findProgram, type WantedProgram } from './programs.ts';

export type GatewayKind = 'nginx' | 'caddy' | 'haproxy';

export interface GatewayProgram extends FoundProgram {
  readonly kind: GatewayKind;
}

const GATEWAYS: Readonly<Record<GatewayKind, WantedProgram>> = {
  nginx: { name: 'nginx', packageName: 'nginx-light', trial: ['-V'] },
  caddy: { name: 'caddy', packageName: 'caddy', trial: ['version'] },
  haproxy: { name: 'haproxy', packageName: 'haproxy', trial: ['-v'] },
};

export async function findGateway(kind: GatewayKind): Promise<GatewayProgram> {
  return { kind, ...(await findProgram(GATEWAYS[kind])) };
}
