/** Renders templates and whole charts, as `helm template` would. */

import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parse, parseAllDocuments } from 'yaml';
import { FUNCTIONS, isTrue, text } from './functions.ts';
import { type Command, type Node, type Parsed, type Pipe, parseTemplate, type Term } from './parse-template.ts';

// biome-ignore lint/suspicious/noExplicitAny: a template knows no types.
type Any = any;

interface Scope {
  readonly dot: Any;
  readonly variables: Map<string, Any>;
}

export class Templates {
  readonly #defined = new Map<string, Node[]>();

  /** Its definitions are known to all. */
  add(source: string, file: string): Parsed {
    const parsed = parseTemplate(source, file);
    for (const [name, nodes] of parsed.defined) {
      if (this.#defined.has(name)) throw new Error(`${file}: ${name} is defined twice`);
      this.#defined.set(name, nodes);
    }
    return parsed;
  }

  render(nodes: readonly Node[], dot: Any): string {
    return this.#all(nodes, { dot, variables: new Map([['$', dot]]) });
  }

  #all(nodes: readonly Node[], scope: Scope): string {
    return nodes.map((node) => this.#one(node, scope)).join('');
  }

  #one(node: Node, scope: Scope): string {
    switch (node.kind) {
      case 'text':
        return node.text;
      case 'output':
        return text(this.#pipe(node.pipe, scope));
      case 'set':
        if (!node.isNew && !scope.variables.has(node.name)) throw new Error(`${node.name} is not there`);
        setIn(scope.variables, node.name, this.#pipe(node.pipe, scope), node.isNew);
        return '';
      case 'if':
        return this.#all(isTrue(this.#pipe(node.pipe, scope)) ? node.then : node.otherwise, within(scope, scope.dot));
      case 'with': {
        const value = this.#pipe(node.pipe, scope);
        return isTrue(value)
          ? this.#all(node.then, within(scope, value))
          : this.#all(node.otherwise, within(scope, scope.dot));
      }
      case 'range':
        return this.#range(node, scope);
    }
  }

  /** Maps in the order of their keys, as Go has it. */
  #range(node: Extract<Node, { kind: 'range' }>, scope: Scope): string {
    const value = this.#pipe(node.pipe, scope);
    if (!isTrue(value)) return this.#all(node.otherwise, within(scope, scope.dot));
    const entries: [Any, Any][] = Array.isArray(value)
      ? [...value.entries()]
      : Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
    return entries
      .map(([key, item]) => {
        const inner = within(scope, item);
        const values = node.names.length === 2 ? [key, item] : [item];
        for (const [index, name] of node.names.entries()) inner.variables.set(name, values[index]);
        return this.#all(node.then, inner);
      })
      .join('');
  }

  #pipe(pipe: Pipe, scope: Scope): Any {
    let [value, isFirst] = [undefined as Any, true];
    for (const command of pipe) {
      value = this.#command(command, scope, isFirst ? [] : [value]);
      isFirst = false;
    }
    return value;
  }

  #command([first, ...rest]: Command, scope: Scope, last: readonly Any[]): Any {
    const args = [...rest.map((term) => this.#term(term, scope)), ...last];
    if (first!.kind === 'call') return this.#call(first!.name, args);
    const value = this.#term(first!, scope);
    if (typeof value === 'function') return value(...args);
    if (args.length > 0) throw new Error(`${JSON.stringify(first)} is no function`);
    return value;
  }

  #call(name: string, args: readonly Any[]): Any {
    if (name === 'include') {
      const nodes = this.#defined.get(args[0]);
      if (nodes === undefined) throw new Error(`there is no template ${JSON.stringify(args[0])}`);
      return this.render(nodes, args[1]);
    }
    if (name === 'tpl') return this.render(parseTemplate(args[0], 'tpl').body, args[1]);
    if (!Object.hasOwn(FUNCTIONS, name)) throw new Error(`the function ${name} is not known`);
    return FUNCTIONS[name]!(...args);
  }

  #term(term: Term, scope: Scope): Any {
    if (term.kind === 'value') return term.value;
    if (term.kind === 'call') return this.#call(term.name, []);
    const { from, fields } = term;
    if (typeof from !== 'string') return follow(this.#pipe(from, scope), fields);
    if (from === 'dot') return follow(scope.dot, fields);
    if (!scope.variables.has(from)) throw new Error(`the variable ${from} is not there`);
    return follow(scope.variables.get(from), fields);
  }
}

/** What is missing is nothing; below nothing there is an error, as in Go. */
function follow(value: Any, fields: readonly string[]): Any {
  let found = value;
  for (const field of fields) {
    if (found === null || found === undefined) throw new Error(`nil pointer evaluating .${fields.join('.')}`);
    if (typeof found !== 'object') throw new Error(`cannot evaluate .${field} of ${JSON.stringify(found)}`);
    const next = found[field];
    found = typeof next === 'function' ? next.bind(found) : next;
  }
  return found;
}

/** Variables that are set inside stay inside; `=` reaches those outside. */
function within(scope: Scope, dot: Any): Scope {
  return { dot, variables: new Map([...scope.variables, [OUTSIDE, scope.variables]]) };
}

const OUTSIDE = ' outside';

function setIn(variables: Map<string, Any>, name: string, value: Any, isNew: boolean): void {
  variables.set(name, value);
  const outside = variables.get(OUTSIDE) as Map<string, Any> | undefined;
  if (!isNew && outside?.has(name)) setIn(outside, name, value, isNew);
}

export interface RenderOptions {
  /** Over those of the chart, the last one first. */
  readonly values?: readonly object[] | undefined;
  readonly release?: string | undefined;
  readonly namespace?: string | undefined;
  /** What the cluster has, besides what every one has. */
  readonly apiVersions?: readonly string[] | undefined;
}

export interface Rendered {
  /** By the name of the template. */
  readonly texts: ReadonlyMap<string, string>;
  /** All objects. */
  readonly objects: readonly Any[];
  readonly notes: string;
  /** The values that held. */
  readonly values: Any;
}

/** What a template of a chart sees. */
export function chartContext(
  folder: string,
  { values = [], release = 'sluice', namespace = 'default', apiVersions = [] }: RenderOptions = {},
): Any {
  const read = (file: string): string => readFileSync(join(folder, file), 'utf8');
  const { name, version, appVersion } = parse(read('Chart.yaml'));
  return {
    Values: values.reduce(merged, parse(read('values.yaml'))),
    Chart: { Name: name, Version: version, AppVersion: appVersion },
    Release: { Name: release, Namespace: namespace, Service: 'Helm', IsInstall: true },
    Capabilities: { APIVersions: { Has: (api: string) => apiVersions.includes(api) } },
    Files: { Get: read },
    Template: { BasePath: `${name}/templates` },
  };
}

export function renderChart(folder: string, options: RenderOptions = {}): Rendered {
  const context = chartContext(folder, options);
  const templates = new Templates();
  const names = readdirSync(join(folder, 'templates')).sort();
  const parsed = names.map((name) => ({
    name,
    ...templates.add(readFileSync(join(folder, 'templates', name), 'utf8'), name),
  }));
  const texts = new Map(
    parsed
      .filter(({ name }) => !name.startsWith('_'))
      .map(({ name, body }) => [name, renderNamed(templates, name, body, context)]),
  );
  const objects = [...texts].filter(([name]) => name.endsWith('.yaml')).flatMap(([name, all]) => objectsIn(all, name));
  return { texts, objects, notes: texts.get('NOTES.txt') ?? '', values: context.Values };
}

function renderNamed(templates: Templates, name: string, body: Node[], context: Any): string {
  try {
    return templates.render(body, context);
  } catch (error) {
    throw new Error(`${basename(name)}: ${(error as Error).message}`);
  }
}

function objectsIn(all: string, name: string): Any[] {
  return parseAllDocuments(all).flatMap((document) => {
    const [problem] = [...document.errors, ...document.warnings];
    if (problem !== undefined) throw new Error(`${name}: ${problem.message}\n${all}`);
    const value = document.toJS();
    return value === null ? [] : [value];
  });
}

/** As Helm does: maps are merged, all else is replaced, and null removes. */
function merged(under: Any, over: Any): Any {
  const result = { ...under };
  for (const [key, value] of Object.entries<Any>(over)) {
    if (value === null) delete result[key];
    else result[key] = isMap(value) && isMap(result[key]) ? merged(result[key], value) : value;
  }
  return result;
}

function isMap(value: Any): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
