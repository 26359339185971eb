/**
 * What an operation of GraphQL costs: before it runs, from its document, and after, from what it returned. Every field that is resolved costs 1, or what the
 * schema says with `@cost`; what is below a list counts once for each of its items. Fields are merged as execution merges them, so a field that several
 * fragments select costs once, and each alias of it once more.
 *
 * Nothing of `graphql` is imported: documents are plain data, and a schema is asked by its methods, so that two copies of the package do no harm.
 */
import { Kind } from '../model/errors.ts';
import { checkFunction, checkOptionNames, invalidOption } from '../model/options.ts';

/** A field as `fieldCost` is asked about it. */
export interface FieldUse {
  /** The type that has the field; undefined when the schema does not know it. */
  readonly type: string | undefined;
  readonly field: string;
  /** With variables filled in. */
  readonly args: Readonly<Record<string, unknown>>;
}

/** How the complexity of an operation is found. */
export interface ComplexityOptions {
  /** Units of one field, without what is below it. Undefined: what `@cost(weight: ...)` in the schema says, else 1. */
  readonly fieldCost?: ((use: FieldUse) => number | undefined) | undefined;
  /** Items that a list is expected to have, where no argument and no `@listSize(assumedSize: ...)` says so. Default: 10. */
  readonly listSize?: number | undefined;
  /** Arguments that say how long a list may be. Default: `first`, `last`, `limit`, `take`, `pageSize`. */
  readonly sizeArguments?: readonly string[] | undefined;
}

/** A node of a document, as far as it is used. */
export interface Node {
  readonly kind: string;
  readonly name?: { readonly value: string } | undefined;
  readonly alias?: { readonly value: string } | undefined;
  readonly operation?: string | undefined;
  readonly value?: unknown;
  readonly values?: readonly Node[] | undefined;
  readonly fields?: readonly Node[] | undefined;
  readonly selectionSet?: { readonly selections: readonly Node[] } | undefined;
  readonly selections?: readonly Node[] | undefined;
  readonly arguments?: readonly Node[] | undefined;
  readonly directives?: readonly Node[] | undefined;
  readonly typeCondition?: Node | undefined;
  readonly variable?: Node | undefined;
  readonly variableDefinitions?: readonly Node[] | undefined;
  readonly defaultValue?: Node | undefined;
  readonly definitions?: readonly Node[] | undefined;
}

interface Type {
  readonly name?: string | undefined;
  readonly ofType?: Type | undefined;
  getFields?(): Readonly<Record<string, Field | undefined>>;
}

interface Field {
  readonly type: Type;
  readonly astNode?: Node | null | undefined;
}

/** What is used of a schema. */
export interface Schema {
  getQueryType(): Type | null | undefined;
  getMutationType(): Type | null | undefined;
  getSubscriptionType(): Type | null | undefined;
  getType(name: string): Type | null | undefined;
}

/** An operation that is to be run. */
export interface Operation {
  readonly schema: Schema;
  readonly document: Node;
  readonly operationName?: string | null | undefined;
  readonly variableValues?: Readonly<Record<string, unknown>> | null | undefined;
}

const SIZE_ARGUMENTS = ['first', 'last', 'limit', 'take', 'pageSize'];
const LIST_SIZE = 10;
/** More than any document that a person or a program has a use for: what is beyond costs more than every limit. */
const MOST_FIELDS = 20_000;
const MOST_LEVELS = 200;

export function checkComplexity(options: ComplexityOptions, path: string): ComplexityOptions {
  checkOptionNames(options, ['fieldCost', 'listSize', 'sizeArguments'], path);
  checkFunction(options.fieldCost, `${path}.fieldCost`);
  const { listSize, sizeArguments } = options;
  if (listSize !== undefined && !(Number.isFinite(listSize) && listSize >= 0)) {
    throw invalidOption(`${path}.listSize`, 'a number of items', listSize);
  }
  if (sizeArguments !== undefined && !Array.isArray(sizeArguments)) {
    throw invalidOption(`${path}.sizeArguments`, 'names of arguments', Kind.of(sizeArguments));
  }
  return options;
}

/**
 * What an operation is expected to cost, in units: to try out limits, or to show it to people.
 *
 * @example
 * operationCost({ schema, document: parse('{ users(first: 20) { name } }') }) // 21
 */
export function operationCost(operation: Operation, options: ComplexityOptions = {}): number {
  return new Complexity(operation, checkComplexity(options, 'operationCost')).expected;
}

/** The operation of a document that runs; undefined when none does. */
export function operationIn({
  document,
  operationName,
}: Pick<Operation, 'document' | 'operationName'>): Node | undefined {
  const operations = (document.definitions ?? []).filter(({ kind }) => kind === 'OperationDefinition');
  if (!operationName) return operations.length === 1 ? operations[0] : undefined;
  return operations.find(({ name }) => name?.value === operationName);
}

/** Selections of one field, from wherever they come, each with the type that its fields are of. */
type Parts = readonly { readonly selections: readonly Node[]; readonly type: Type | undefined }[];

/** All uses of one response name at one place: execution resolves them together. */
interface Group {
  readonly uses: { readonly node: Node; readonly type: Type | undefined }[];
}

/** An operation and what it costs. Made once for each time that it runs. */
export class Complexity {
  readonly #options: ComplexityOptions;
  readonly #schema: Schema;
  readonly #fragments = new Map<string, Node>();
  readonly #variables: Readonly<Record<string, unknown>>;
  readonly #root: Parts;
  readonly #known = new Map<string, number>();
  readonly #ids = new Map<object, number>();
  #seen = 0;

  constructor(operation: Operation, options: ComplexityOptions) {
    this.#options = options;
    this.#schema = operation.schema;
    for (const node of operation.document.definitions ?? []) {
      if (node.kind === 'FragmentDefinition') this.#fragments.set(node.name!.value, node);
    }
    const running = operationIn(operation);
    this.#variables = { ...defaultsOf(running), ...operation.variableValues };
    this.#root = running === undefined ? [] : [{ selections: selectionsOf(running), type: this.#rootType(running) }];
  }

  /** Whole units, at least 1. */
  get expected(): number {
    return wholeCost(this.#costBelow(this.#root, undefined, 0));
  }

  /** The same by what came back. Undefined when that does not show what ran: where there are errors, or a stream. */
  actual(result: unknown): number | undefined {
    const { data, errors } = (result ?? {}) as { readonly data?: unknown; readonly errors?: unknown };
    const isWhole = typeof data === 'object' && data !== null && (errors === undefined || isEmpty(errors));
    return isWhole && !isStream(result) ? wholeCost(this.#costIn(data, this.#root, 0)) : undefined;
  }

  #rootType({ operation }: Node): Type | undefined {
    if (operation === 'mutation') return this.#schema.getMutationType() ?? undefined;
    if (operation === 'subscription') return this.#schema.getSubscriptionType() ?? undefined;
    return this.#schema.getQueryType() ?? undefined;
  }

  /** `size`: how long the lists at this place are, if the field above says so, as connections do. */
  #costBelow(parts: Parts, size: number | undefined, level: number): number {
    if (level > MOST_LEVELS) return Number.POSITIVE_INFINITY;
    // The same selections at two places cost the same: a document that doubles with each fragment is read once.
    const name = `${parts.map((part) => `${this.#idOf(part.selections)}:${part.type?.name}`).join()} ${size}`;
    const known = this.#known.get(name);
    if (known !== undefined) return known;
    let cost = 0;
    const groups = this.#groupsOf(parts).values();
    for (const group of groups) {
      cost = this.#seen > MOST_FIELDS ? Number.POSITIVE_INFINITY : cost + this.#costOf(group, size, level);
      if (cost === Number.POSITIVE_INFINITY) break;
    }
    this.#known.set(name, cost);
    return cost;
  }

  #costOf(group: Group, size: number | undefined, level: number): number {
    const own = this.#weightOf(group);
    const below = partsBelow(group);
    if (below.length === 0) return own;
    const { items, passedOn } = this.#sizesOf(group, size);
    const inside = this.#costBelow(below, passedOn, level + 1);
    return inside === 0 || items === 0 ? own : own + items * inside;
  }

  /** What is really there. Introspection counts as its document says: its lists are as long as the schema, whoever asks. */
  #costIn(data: object, parts: Parts, level: number): number {
    let cost = 0;
    for (const [name, group] of this.#groupsOf(parts)) {
      if (!Object.hasOwn(data, name)) continue;
      if (isIntrospection(group)) cost += this.#costOf(group, undefined, level);
      else cost += this.#weightOf(group) + this.#costInside((data as Record<string, unknown>)[name], group, level);
    }
    return cost;
  }

  #costInside(value: unknown, group: Group, level: number): number {
    if (typeof value !== 'object' || value === null) return 0;
    if (Array.isArray(value)) return value.reduce((sum, item) => sum + this.#costInside(item, group, level), 0);
    const below = partsBelow(group);
    return below.length === 0 ? 0 : this.#costIn(value, below, level + 1);
  }

  readonly #collected = new Map<Parts, Map<string, Group>>();

  /** By response name, as execution collects them; on which type a fragment is does not matter, so the cost is that of the worst case. */
  #groupsOf(parts: Parts): ReadonlyMap<string, Group> {
    const groups = this.#collected.get(parts) ?? new Map<string, Group>();
    if (this.#collected.has(parts)) return groups;
    this.#collected.set(parts, groups);
    const visited = new Set<string>();
    for (const { selections, type } of parts) this.#collect(selections, type, groups, visited);
    return groups;
  }

  #collect(selections: readonly Node[], type: Type | undefined, into: Map<string, Group>, visited: Set<string>): void {
    for (const node of selections) {
      this.#seen += 1;
      if (this.#seen > MOST_FIELDS) return;
      if (!this.#isIncluded(node)) continue;
      if (node.kind === 'Field') {
        const name = (node.alias ?? node.name)!.value;
        const group = into.get(name) ?? { uses: [] };
        group.uses.push({ node, type });
        into.set(name, group);
      } else this.#collectFragment(node, type, into, visited);
    }
  }

  #collectFragment(node: Node, type: Type | undefined, into: Map<string, Group>, visited: Set<string>): void {
    const name = node.kind === 'FragmentSpread' ? node.name!.value : undefined;
    if (name !== undefined && visited.has(name)) return;
    if (name !== undefined) visited.add(name);
    const fragment = name === undefined ? node : this.#fragments.get(name);
    if (fragment === undefined) return;
    const on = fragment.typeCondition?.name?.value;
    this.#collect(selectionsOf(fragment), on === undefined ? type : (this.#schema.getType(on) ?? type), into, visited);
  }

  /** `@skip` and `@include`, as execution reads them. */
  #isIncluded({ directives = [] }: Node): boolean {
    return directives.every(({ name, arguments: given = [] }) => {
      if (name?.value !== 'skip' && name?.value !== 'include') return true;
      const condition = given.find((argument) => argument.name?.value === 'if')?.value as Node | undefined;
      return Boolean(condition && this.#valueOf(condition)) === (name.value === 'include');
    });
  }

  #weightOf({ uses }: Group): number {
    return Math.max(...uses.map((use) => this.#weightOfUse(use)));
  }

  #weightOfUse({ node, type }: Group['uses'][number]): number {
    const field = node.name!.value;
    // Clients add it to every selection by themselves. Under another name it is as good as any field.
    if (field === '__typename' && node.alias === undefined) return 0;
    const own = this.#options.fieldCost?.({ type: type?.name, field, args: this.#argumentsOf(node) });
    const said = own ?? numberIn(directiveOf(fieldOf(type, field), 'cost'), 'weight') ?? 1;
    return said >= 0 ? said : Number.POSITIVE_INFINITY;
  }

  /** How many items there will be, and how many in the lists below a field that is none itself. */
  #sizesOf({ uses }: Group, size: number | undefined): { items: number; passedOn: number | undefined } {
    const lists: number[] = [];
    const above: number[] = [];
    for (const { node, type } of uses) {
      const field = fieldOf(type, node.name!.value);
      const asked = this.#askedSize(node, field);
      // Lists of introspection are as long as the schema, whoever asks.
      const isList = field !== undefined && !type!.name?.startsWith('__');
      const depth = isList ? String(field.type).split('[').length - 1 : 0;
      const assumed = numberIn(directiveOf(field, 'listSize'), 'assumedSize') ?? this.#options.listSize ?? LIST_SIZE;
      if (depth > 0) lists.push((asked ?? size ?? assumed) * assumed ** (depth - 1));
      else if (asked !== undefined) above.push(asked);
    }
    return { items: largest(lists) ?? 1, passedOn: largest(above) };
  }

  #askedSize(node: Node, field: Field | undefined): number | undefined {
    const listSize = directiveOf(field, 'listSize');
    const slicing = listSize?.arguments?.find(({ name }) => name?.value === 'slicingArguments')?.value as
      | Node
      | undefined;
    const names = slicing?.values?.map(({ value }) => String(value)) ?? this.#options.sizeArguments ?? SIZE_ARGUMENTS;
    const args = this.#argumentsOf(node);
    const asked = names.map((name) => args[name]).filter((value) => typeof value === 'number' && value >= 0);
    return largest(asked as number[]);
  }

  #argumentsOf({ arguments: given = [] }: Node): Readonly<Record<string, unknown>> {
    return Object.fromEntries(given.map(({ name, value }) => [name!.value, this.#valueOf(value as Node)]));
  }

  #valueOf(node: Node): unknown {
    return node.kind === 'Variable'
      ? this.#variables[node.name!.value]
      : literalOf(node, (each) => this.#valueOf(each));
  }

  #idOf(selections: object): number {
    const id = this.#ids.get(selections) ?? this.#ids.size;
    this.#ids.set(selections, id);
    return id;
  }
}

function selectionsOf({ selectionSet }: Node): readonly Node[] {
  return selectionSet?.selections ?? [];
}

function isIntrospection({ uses }: Group): boolean {
  return uses.some(({ node }) => node.name!.value === '__schema' || node.name!.value === '__type');
}

const below = new WeakMap<Group, Parts>();

/** Always the same object for the same group, by which what is below is known again. */
function partsBelow(group: Group): Parts {
  const known = below.get(group);
  if (known !== undefined) return known;
  const parts = group.uses
    .filter(({ node }) => node.selectionSet !== undefined)
    .map(({ node, type }) => ({
      selections: selectionsOf(node),
      type: namedType(fieldOf(type, node.name!.value)?.type),
    }));
  below.set(group, parts);
  return parts;
}

function fieldOf(type: Type | undefined, name: string): Field | undefined {
  const fields = type?.getFields?.();
  return fields !== undefined && Object.hasOwn(fields, name) ? fields[name] : undefined;
}

function namedType(type: Type | undefined): Type | undefined {
  let named = type;
  while (named?.ofType !== undefined) named = named.ofType;
  return named;
}

function directiveOf(field: Field | undefined, name: string): Node | undefined {
  return field?.astNode?.directives?.find((directive) => directive.name?.value === name);
}

/** A number, also written as text: the proposal for `@cost` has it so. */
function numberIn(directive: Node | undefined, name: string): number | undefined {
  const value = (directive?.arguments?.find((argument) => argument.name?.value === name)?.value as Node | undefined)
    ?.value;
  return value === undefined || Number.isNaN(Number(value)) ? undefined : Number(value);
}

function defaultsOf(operation: Node | undefined): Readonly<Record<string, unknown>> {
  const defined = (operation?.variableDefinitions ?? []).filter(({ defaultValue }) => defaultValue !== undefined);
  return Object.fromEntries(
    defined.map(({ variable, defaultValue }) => [variable!.name!.value, literalOf(defaultValue!, () => undefined)]),
  );
}

function literalOf(node: Node, read: (node: Node) => unknown): unknown {
  switch (node.kind) {
    case 'IntValue':
    case 'FloatValue':
      return Number(node.value);
    case 'ListValue':
      return node.values!.map(read);
    case 'ObjectValue':
      return Object.fromEntries(node.fields!.map(({ name, value }) => [name!.value, read(value as Node)]));
    default:
      return node.value;
  }
}

function largest(numbers: readonly number[]): number | undefined {
  return numbers.length === 0 ? undefined : Math.max(...numbers);
}

function isEmpty(errors: unknown): boolean {
  return Array.isArray(errors) && errors.length === 0;
}

/** Incremental delivery: what came so far is not all. */
function isStream(result: unknown): boolean {
  return (result as { readonly hasNext?: unknown }).hasNext === true;
}

/** What a limiter takes: a whole number, and the largest one for what nobody could pay. */
function wholeCost(cost: number): number {
  return Math.min(Math.max(1, Math.ceil(cost)), Number.MAX_SAFE_INTEGER);
}
