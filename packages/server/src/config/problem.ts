/**
 * What is wrong with a file, all of it: a validator that stops at the first problem makes people run it ten times. A problem says
 * where it stands, by path and by line, and what was expected there.
 */
export type Path = readonly (string | number)[];

export interface Problem {
  /** As people write it: `policies.api.capacity`, `rules[2].key`. Empty for the whole file. */
  readonly path: string;
  readonly message: string;
  /** From 1. */
  readonly line: number;
  readonly column: number;
}

export interface Place {
  readonly line: number;
  readonly column: number;
}

export type Locate = (path: Path) => Place;

export class Problems {
  readonly list: Problem[] = [];
  readonly #locate: Locate;

  constructor(locate: Locate) {
    this.#locate = locate;
  }

  add(path: Path, message: string): void {
    this.list.push({ path: pathText(path), message, ...this.#locate(path) });
  }
}

export function pathText(path: Path): string {
  return path.map(segmentText).join('');
}

function segmentText(segment: string | number, index: number): string {
  if (typeof segment === 'number') return `[${segment}]`;
  return index === 0 ? segment : `.${segment}`;
}

/** One of several files. Without a line where the file could not even be read. */
export interface FileProblem extends Pick<Problem, 'path' | 'message'>, Partial<Place> {
  readonly file: string;
}

/** One line, in the form that editors and terminals turn into a link. */
export function problemText({ file, line, column, path, message }: FileProblem): string {
  const place = line === undefined ? file : `${file}:${line}:${column}`;
  return `${place}: ${path === '' ? '' : `${path}: `}${message}`;
}
