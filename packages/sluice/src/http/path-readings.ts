/**
 * A path as those who route it may read it. Case, slashes and percent-encoding make one route of two spellings somewhere, so all of them are
 * taken away. Of dot segments, backslashes and parameters (`/login;a=1`) some servers make another route and some do not, `new URL()` among
 * the former: such a path has two readings.
 */

/** The plain one, and where it differs that of servers which resolve everything. */
export function pathReadings(target: string): readonly [plain: string, resolved?: string] {
  const plain = plainPath(target);
  if (!AMBIGUOUS.test(plain)) return [plain];
  return [plain, `/${resolvedSegments(plain).join('/')}`];
}

const ORIGIN = /^[a-z][a-z\d+.-]*:\/\/[^/?#]*/i;
const AMBIGUOUS = /[\\;]|\/\.\.?(?:\/|$)/;

/** Without its origin and query. */
export function plainPath(target: string): string {
  const relative = target[0] === '/' ? target : target.replace(ORIGIN, '');
  const end = relative.search(/[?#]/);
  const path = decoded(end < 0 ? relative : relative.slice(0, end)).toLowerCase();
  return `/${path.split('/').filter(Boolean).join('/')}`;
}

function decoded(path: string): string {
  if (!path.includes('%')) return path;
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

function resolvedSegments(path: string): readonly string[] {
  const resolved: string[] = [];
  for (const text of path.split(/[\\/]/)) {
    const [segment = ''] = text.split(';');
    if (segment === '..') resolved.pop();
    else if (segment !== '' && segment !== '.') resolved.push(segment);
  }
  return resolved;
}
