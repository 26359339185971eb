/** A YAML text as plain data, and where each part of it stands. Knows nothing of what the data means. */
import { type Document, isMap, isScalar, isSeq, LineCounter, type Node, parseDocument } from 'yaml';
import type { Locate, Path, Place, Problem } from './problem.ts';

export interface YamlFile {
  readonly data: unknown;
  readonly locate: Locate;
  /** What keeps it from being YAML. The data is then not to be used. */
  readonly problems: readonly Problem[];
}

export function parseYaml(text: string): YamlFile {
  const lines = new LineCounter();
  // `<<` is no part of YAML 1.2, but of what people write who have an anchor.
  const options = { lineCounter: lines, prettyErrors: false, stringKeys: true, merge: true };
  const document = parseDocument(text, options);
  const problems = problemsOf(document, lines);
  const locate: Locate = (path) => placeOf(offsetOf(document, path), lines);
  if (problems.length > 0) return { data: undefined, locate, problems };
  return { locate, ...plainData(document) };
}

/** What keeps a text from being YAML. */
export function problemsOf(document: Document, lines: LineCounter): readonly Problem[] {
  return document.errors.map(({ code, message, pos }) => ({
    path: '',
    message: code === 'MULTIPLE_DOCS' ? 'expected one document, got several' : message,
    ...placeOf(pos[0], lines),
  }));
}

function placeOf(offset: number, lines: LineCounter): Place {
  const { line, col } = lines.linePos(offset);
  return { line: Math.max(1, line), column: Math.max(1, col) };
}

/** Anchors may be used, but not to make a small file a huge object: the parser refuses that when it is unfolded. */
function plainData(document: Document): Pick<YamlFile, 'data' | 'problems'> {
  try {
    return { data: document.toJS(), problems: [] };
  } catch (error) {
    return { data: undefined, problems: [{ path: '', message: (error as Error).message, line: 1, column: 1 }] };
  }
}

/** Of the key, or of the item of a list; of the nearest parent when there is no such thing, because it is missing. */
function offsetOf(document: Document, path: Path): number {
  let node: unknown = document.contents;
  let offset = (node as Node | null)?.range?.[0] ?? 0;
  for (const segment of path) {
    const found = stepInto(node, segment);
    if (found === undefined) break;
    offset = found.offset ?? offset;
    node = found.node;
  }
  return offset;
}

function stepInto(node: unknown, segment: string | number): { node: unknown; offset: number | undefined } | undefined {
  if (isSeq(node)) {
    const item = node.items[Number(segment)] as Node | undefined;
    return item === undefined ? undefined : { node: item, offset: item.range?.[0] };
  }
  if (!isMap(node)) return undefined;
  const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === String(segment));
  return pair === undefined ? undefined : { node: pair.value, offset: (pair.key as Node).range?.[0] };
}
