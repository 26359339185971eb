/**
 * Go's templates, as far as our chart uses them: actions, pipelines, variables, if, with, range, define. Helm itself is a program that tests cannot
 * get everywhere; a test compares this one with Caddy, which has Go's own text/template. What it does not understand is an error.
 */

export type Node =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'output'; readonly pipe: Pipe }
  | { readonly kind: 'set'; readonly name: string; readonly isNew: boolean; readonly pipe: Pipe }
  | { readonly kind: 'if' | 'with'; readonly pipe: Pipe; readonly then: Node[]; readonly otherwise: Node[] }
  | {
      readonly kind: 'range';
      readonly names: readonly string[];
      readonly pipe: Pipe;
      readonly then: Node[];
      readonly otherwise: Node[];
    };

/** Each command gets the value of the one before as its last argument. */
export type Pipe = readonly Command[];
export type Command = readonly Term[];

export type Term =
  | { readonly kind: 'value'; readonly value: string | number | boolean | null }
  | { readonly kind: 'call'; readonly name: string }
  /** `.a.b`, `$.a`, `$x.a`, `(...).a` */
  | { readonly kind: 'path'; readonly from: 'dot' | string | Pipe; readonly fields: readonly string[] };

export interface Parsed {
  readonly body: Node[];
  readonly defined: ReadonlyMap<string, Node[]>;
}

type Token = { readonly kind: 'text' | 'action'; readonly text: string };

export function parseTemplate(source: string, file: string): Parsed {
  const parser = new Parser(tokensOf(source, file), file);
  return { body: parser.block([]).nodes, defined: parser.defined };
}

const ELSEWHERE = ['end', 'else', 'template', 'block', 'break', 'continue'];

class Parser {
  readonly defined = new Map<string, Node[]>();
  readonly #tokens: readonly Token[];
  readonly #file: string;
  #next = 0;

  constructor(tokens: readonly Token[], file: string) {
    this.#tokens = tokens;
    this.#file = file;
  }

  /** Until one of these words, which is given back with what follows it. */
  block(until: readonly string[]): { readonly nodes: Node[]; readonly end: string } {
    const nodes: Node[] = [];
    while (this.#next < this.#tokens.length) {
      const { kind, text } = this.#tokens[this.#next++]!;
      const [, word = '', rest = ''] = /^(\w+)?\s*([\s\S]*)$/.exec(text)!;
      if (kind === 'text') {
        if (text !== '') nodes.push({ kind: 'text', text });
      } else if (until.includes(word)) return { nodes, end: `${word} ${rest}`.trim() };
      else if (word === 'define') this.#define(rest);
      else nodes.push(this.#action(word, rest, text));
    }
    if (until.length > 0) this.#fail('an {{ end }} is missing');
    return { nodes, end: '' };
  }

  #action(word: string, rest: string, text: string): Node {
    if (word === 'if' || word === 'with') return this.#branch(word, rest);
    if (word === 'range') return this.#range(rest);
    if (ELSEWHERE.includes(word)) this.#fail(`{{ ${text} }} is not known here`);
    const [, name, sign, value] = /^(\$\w+)\s*(:?=)\s*([\s\S]+)$/.exec(text) ?? [];
    if (name === undefined) return { kind: 'output', pipe: parsePipe(text, this.#file) };
    return { kind: 'set', name, isNew: sign === ':=', pipe: parsePipe(value!, this.#file) };
  }

  #define(rest: string): void {
    const name = JSON.parse(rest) as string;
    if (this.defined.has(name)) this.#fail(`${name} is defined twice`);
    this.defined.set(name, this.block(['end']).nodes);
  }

  #branch(kind: 'if' | 'with', rest: string): Node {
    const pipe = parsePipe(rest, this.#file);
    const { nodes: then, end } = this.block(['else', 'end']);
    return { kind, pipe, then, otherwise: this.#otherwise(end) };
  }

  /** `else if` is an if within the else. */
  #otherwise(end: string): Node[] {
    if (end === 'end') return [];
    const [whole, word, rest] = /^else(?:\s+(if|with)\s+([\s\S]+))?$/.exec(end) ?? [];
    if (whole === undefined) this.#fail(`{{ ${end} }} is not known`);
    return word === undefined ? this.block(['end']).nodes : [this.#branch(word as 'if' | 'with', rest!)];
  }

  #range(rest: string): Node {
    const [, names = '', text] = /^(?:(\$\w+(?:\s*,\s*\$\w+)?)\s*:=\s*)?([\s\S]+)$/.exec(rest)!;
    const pipe = parsePipe(text!, this.#file);
    const { nodes: then, end } = this.block(['else', 'end']);
    return {
      kind: 'range',
      names: names.split(/\s*,\s*/).filter(Boolean),
      pipe,
      then,
      otherwise: this.#otherwise(end),
    };
  }

  #fail(message: string): never {
    throw new Error(`${this.#file}: ${message}`);
  }
}

/** Text and actions in turn. A dash takes the white space beside it. Comments are gone. */
function tokensOf(source: string, file: string): Token[] {
  const tokens: Token[] = [];
  const action = /\{\{(-(?=\s))?((?:"(?:\\.|[^"\\])*"|`[^`]*`|\/\*[\s\S]*?\*\/|(?!-?\}\})[\s\S])*?)(\s-)?\}\}/g;
  let [from, trims] = [0, false];
  for (const match of source.matchAll(action)) {
    const before = source.slice(from, match.index);
    const text = trims ? before.trimStart() : before;
    tokens.push({ kind: 'text', text: match[1] === undefined ? text : text.trimEnd() });
    const inside = match[2]!.trim();
    if (!inside.startsWith('/*')) tokens.push({ kind: 'action', text: inside });
    from = match.index + match[0].length;
    trims = match[3] !== undefined;
  }
  const rest = source.slice(from);
  if (rest.includes('{{'))
    throw new Error(`${file}: an action does not end: ${rest.slice(rest.indexOf('{{'), rest.indexOf('{{') + 40)}`);
  tokens.push({ kind: 'text', text: trims ? rest.trimStart() : rest });
  return tokens;
}

const WORDS =
  /\s*(?:("(?:\\.|[^"\\])*")|`([^`]*)`|(-?\d+(?:\.\d+)?)(?![\w.])|(\$\w*(?:\.\w+)*)|((?:\.\w+)+|\.)|(\()|(\)(?:\.\w+)*)|(\|)|(\w+))/y;

export function parsePipe(text: string, file: string): Pipe {
  const reader = new PipeReader(text, file);
  const { commands } = reader.pipe(false);
  if (commands.some(({ length }) => length === 0)) throw new Error(`${file}: an empty command in {{ ${text} }}`);
  return commands;
}

class PipeReader {
  readonly #text: string;
  readonly #file: string;
  #at = 0;

  constructor(text: string, file: string) {
    this.#text = text;
    this.#file = file;
  }

  /** Until the end, or to the parenthesis that closes it and the fields that are asked of it. */
  pipe(isInside: boolean): { readonly commands: Command[]; readonly fields: string[] } {
    const commands: Term[][] = [[]];
    for (let match = this.#word(); match !== undefined; match = this.#word()) {
      const [, , , , , , , close, bar] = match;
      if (close !== undefined) {
        if (!isInside) this.#fail('a ) too many');
        return { commands, fields: close.split('.').slice(1) };
      }
      if (bar !== undefined) commands.push([]);
      else commands.at(-1)!.push(this.#term(match));
    }
    if (isInside) this.#fail('a ) is missing');
    return { commands, fields: [] };
  }

  #word(): RegExpExecArray | undefined {
    if (this.#text.slice(this.#at).trim() === '') return undefined;
    WORDS.lastIndex = this.#at;
    const match = WORDS.exec(this.#text) ?? this.#fail(`cannot read ${JSON.stringify(this.#text.slice(this.#at))}`);
    this.#at = WORDS.lastIndex;
    return match;
  }

  #term([, quoted, raw, number, variable, path, open, , , name]: RegExpExecArray): Term {
    if (quoted !== undefined) return { kind: 'value', value: JSON.parse(quoted) };
    if (raw !== undefined) return { kind: 'value', value: raw };
    if (number !== undefined) return { kind: 'value', value: Number(number) };
    if (variable !== undefined) {
      const [from, ...fields] = variable.split('.');
      return { kind: 'path', from: from!, fields };
    }
    if (path !== undefined) return { kind: 'path', from: 'dot', fields: path.split('.').filter(Boolean) };
    if (open !== undefined) {
      const { commands: from, fields } = this.pipe(true);
      return { kind: 'path', from, fields };
    }
    if (name === 'true' || name === 'false') return { kind: 'value', value: name === 'true' };
    return name === 'nil' ? { kind: 'value', value: null } : { kind: 'call', name: name! };
  }

  #fail(message: string): never {
    throw new Error(`${this.#file}: ${message} in {{ ${this.#text} }}`);
  }
}
