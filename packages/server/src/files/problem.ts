/**
 * What is wrong with a file, all of it: a validator that stops at the first problem makes people run it ten times. A problem says
 * where it stands, by path and by line, and what was expected there.
 */
export type Path = readonly (string | number)[];

/** A mistake in a file: where it stands and what to do about it. */
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
  const text = /^\P{Cc}+$/u.test(segment) ? segment : JSON.stringify(segment);
  return index === 0 ? text : `.${text}`;
}

/** One of several files. Without a line where the file could not even be read. */
export interface FileProblem extends Pick<Problem, 'path' | 'message'>, Partial<Place> {
  readonly file: string;
  /** How it is told as text. Default: as editors and terminals turn it into a link. */
  readonly form?: 'envoy' | undefined;
}

/** One line. */
export function problemText(problem: FileProblem): string {
  const { file, line, column, path, message, form } = problem;
  if (form === 'envoy') return envoyText(problem);
  const place = line === undefined ? file : `${file}:${line}:${column}`;
  return `${place}: ${path === '' ? '' : `${path}: `}${message}`;
}

/** `FILE: text` to the letter as the reference server has it, so that whoever looks for that finds it, and then where it stands. */
function envoyText({ file, line, column, path, message }: FileProblem): string {
  const place = `line ${line}, column ${column}${path === '' ? '' : `: ${path}`}`;
  return `${file}: ${message} (${place})`;
}
