/**
 * The path of a request in every way a server may read it, for rules. Whoever stands behind the gateway reads it in one of them, and the
 * rules do not know in which: a limit holds as soon as one reading is meant, and an exception only when all of them are.
 */
import { pathReadings } from 'sluice/http';

/** A path that was made to be read in more ways than anybody looks at. */
export class UnreadablePath extends Error {}

/** Each is a state that one request spends from. */
const MOST_ROUTES = 8;

export class RequestPaths {
  readonly #path: string;
  #readings: PathReadings | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  /** Read when a rule first asks. Throws UnreadablePath. */
  get readings(): PathReadings {
    this.#readings ??= readingsOf(this.#path);
    return this.#readings;
  }
}

type PathReadings = ReturnType<typeof pathReadings>;

function readingsOf(path: string): PathReadings {
  const readings = pathReadings(path);
  if (readings.isComplete) return readings;
  throw new UnreadablePath('The path can be read in too many ways. Send it without needless escapes.');
}

/**
 * Those readings in which nothing is left to decode or resolve: the routes that the request may be for. Nearly always one. A key by route
 * counts for each of them, because whichever the server takes has to be limited. Where none is left, as with `/static/../x` for a rule about
 * `/static/**`, all of them.
 */
export function routesAmong(readings: readonly string[]): readonly string[] {
  if (readings.length === 1) return readings;
  const resolved = readings.filter(isResolved);
  const routes = resolved.length === 0 ? readings : resolved;
  if (routes.length <= MOST_ROUTES) return routes;
  throw new UnreadablePath(
    `The path can mean ${routes.length} different routes. Send it without needless escapes and dots.`,
  );
}

function isResolved(reading: string): boolean {
  const again = pathReadings(reading);
  return again.length === 1 && again[0] === reading;
}
