/**
 * A path as those who route it may read it. `byRoute` knows about case, slashes and percent-encoding, of which every reading is the same
 * route. Of dot segments, backslashes and parameters (`/login;a=1`) some servers make another route and some do not, so such a path has
 * two readings: what is limited is meant by either of them, and what is free of limits only by both.
 */
import { byRoute, type Key, type RequestView } from 'sluice/http';

/** The plain one, and where it differs the one of servers that resolve everything. */
export function pathReadings(view: RequestView): readonly [plain: string, resolved?: string] {
  const plain = plainPath(view);
  const resolved = `/${resolvedSegments(plain).join('/')}`;
  return plain === resolved ? [plain] : [plain, resolved];
}

function plainPath({ path, header }: RequestView): string {
  const prefix = 'path:GET ';
  return byRoute()({ method: 'GET', path, header, ip: undefined })!.slice(prefix.length);
}

const AMBIGUOUS = /[\\;]|\/\.\.?(?:\/|$)/;

function resolvedSegments(path: string): readonly string[] {
  if (!AMBIGUOUS.test(path)) return path.split('/').filter(Boolean);
  const resolved: string[] = [];
  for (const text of path.split(/[\\/]/)) {
    const [segment = ''] = text.split(';');
    if (segment === '..') resolved.pop();
    else if (segment !== '' && segment !== '.') resolved.push(segment);
  }
  return resolved;
}

/** Keys that name the path: of one with two readings they name the resolved one, or each spelling would have a limit of its own. */
export function byResolvedPath(key: Key): Key {
  return (view, warn) => {
    const [, resolved] = pathReadings(view);
    if (resolved === undefined) return key(view, warn);
    // It is decoded, and will be once more.
    return key({ ...view, path: resolved.split('/').map(encodeURIComponent).join('/') }, warn);
  };
}
