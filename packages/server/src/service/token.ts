/**
 * Who may ask. Without a token everyone who reaches the port may; with one, changes and
 * the keys of others need it, or everything but the health checks does.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import { HttpError } from './http-error.ts';

/** What a route is for: health checks, asking and spending, seeing the keys of others, or changing what others have spent. */
export type Access = 'open' | 'use' | 'see-keys' | 'change';
export type Protection = 'changes' | 'everything';

/** Throws where the token is needed and not there. */
export type Guard = (access: Access, authorization: string | undefined) => void;

/** Whether the header holds the token. Never, where there is none. */
export type HasToken = (authorization: string | undefined) => boolean;

export function tokenReader(token: string | undefined): HasToken {
  if (token === undefined) return () => false;
  const wanted = digest(token);
  return (authorization) => {
    const [, given] = /^Bearer +(\S+) *$/i.exec(authorization ?? '') ?? [];
    return given !== undefined && timingSafeEqual(digest(given), wanted);
  };
}

export function tokenGuard(token: string | undefined, protection: Protection): Guard {
  if (token === undefined) return () => {};
  const hasToken = tokenReader(token);
  const isFree = (access: Access): boolean => access === 'open' || (access === 'use' && protection === 'changes');
  return (access, authorization) => {
    if (isFree(access) || hasToken(authorization)) return;
    const headers = { 'WWW-Authenticate': 'Bearer realm="sluice"' };
    throw new HttpError(401, 'unauthorized', 'This needs the bearer token of the service.', { headers });
  };
}

/** Of one length, whatever was sent. */
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
