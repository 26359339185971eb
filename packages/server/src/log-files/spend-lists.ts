/**
 * What the rules of a config spend, as numbers. A list is what one request spends: for each limit a state and what kind of spend it is. Many lines spend
 * the same, and there are as many lists as clients or more, so they are kept in typed arrays: about 100 bytes for a client with one limit.
 */
import { randomInt } from 'node:crypto';
import type { Policy } from 'sluice';
import type { Numbers, Rule, Step } from 'sluice/store';
import { triableRule } from '../backtest/scenario.ts';
import type { Spend } from '../config/apply-rules.ts';
import type { Config } from '../config/config.ts';
import { KeyTable, wider } from '../logs/key-table.ts';

/** What is the same for all clients. */
export interface SpendKind {
  readonly rule: Rule;
  readonly cost: number;
  /** Its place in the config. */
  readonly policy: number;
  readonly isShadow: boolean;
}

const WIDEST = 4;

/** Numbers for texts. */
class TextNumbers {
  readonly #table = new KeyTable(randomInt(2 ** 31));
  readonly #encoder = new TextEncoder();
  #scratch = new Uint8Array(1024);

  idOf(text: string): number {
    // A character is three bytes at most.
    if (text.length * 3 > this.#scratch.length) this.#scratch = new Uint8Array(text.length * 3);
    return this.#table.idOf(this.#scratch, 0, this.#encoder.encodeInto(text, this.#scratch).written);
  }
}

/** All states, by number. */
class States {
  #numbers = new Float64Array(64 * WIDEST);
  #isKnown = new Uint8Array(64);
  /** Of rules whose states have no fixed width. */
  readonly #logs: (number[] | undefined)[] = [];
  readonly #held = new Float64Array(WIDEST);

  read(state: number, rule: Rule): Numbers | undefined {
    if (rule.width === 0) return this.#logs[state];
    if (this.#isKnown[state] !== 1) return undefined;
    for (let index = 0; index < WIDEST; index += 1) this.#held[index] = this.#numbers[state * WIDEST + index]!;
    return this.#held;
  }

  write(state: number, rule: Rule, step: Step): void {
    if (rule.width === 0) {
      this.#logs[state] = rule.write!(this.#logs[state], step);
      return;
    }
    if (state >= this.#isKnown.length) {
      const length = Math.ceil(state * 1.5) + 1;
      this.#isKnown = wider(this.#isKnown, length);
      this.#numbers = wider(this.#numbers, length * WIDEST);
    }
    this.#isKnown[state] = 1;
    for (let index = 0; index < rule.width; index += 1) this.#numbers[state * WIDEST + index] = step.next[index]!;
  }
}

/** Numbers for lists of spends. */
export class SpendLists {
  readonly states = new States();
  readonly #config: Config;
  readonly #kinds: SpendKind[] = [];
  readonly #kindIds = new Map<string, number>();
  /** Policies come from the config, or from one of its plans: mostly the same objects again. */
  readonly #policyIds = new Map<string, number>();
  readonly #policyOf = new WeakMap<Policy, number>();
  readonly #texts = new TextNumbers();
  readonly #stateTexts = new TextNumbers();
  #size = 0;
  /** By list: where it begins among the items, which are a state and a kind each. */
  #starts = new Uint32Array(64);
  #items = new Int32Array(256);

  constructor(config: Config) {
    this.#config = config;
  }

  /** The number of what a request spends. */
  numberOf(spends: readonly Spend[]): number {
    let text = '';
    for (const { key, policy, cost } of spends) text += `${this.#kindOf(policy, cost)} ${key}\n`;
    const id = this.#texts.idOf(text);
    if (id === this.#size) this.#add(spends);
    return id;
  }

  /** How many limits a list spends from. */
  count(list: number): number {
    return (this.#starts[list + 1]! - this.#starts[list]!) / 2;
  }

  state(list: number, place: number): number {
    return this.#items[this.#starts[list]! + place * 2]!;
  }

  kind(list: number, place: number): SpendKind {
    return this.#kinds[this.#items[this.#starts[list]! + place * 2 + 1]!]!;
  }

  #add(spends: readonly Spend[]): void {
    let at = this.#starts[this.#size]!;
    const end = at + spends.length * 2;
    if (this.#size + 1 >= this.#starts.length) this.#starts = wider(this.#starts, this.#starts.length * 1.5);
    if (end > this.#items.length) this.#items = wider(this.#items, Math.max(end, this.#items.length * 1.5));
    for (const { key, policy, cost } of spends) {
      this.#items[at] = this.#stateTexts.idOf(`${policy.name}\n${key}`);
      this.#items[at + 1] = this.#kindOf(policy, cost);
      at += 2;
    }
    this.#size += 1;
    this.#starts[this.#size] = end;
  }

  #kindOf(policy: Policy, cost: number): number {
    const text = `${this.#policyId(policy)} ${cost}`;
    const known = this.#kindIds.get(text);
    if (known !== undefined) return known;
    const { policies } = this.#config;
    const isShadow = policies.get(policy.name)?.shadow === true;
    const place = [...policies.keys()].indexOf(policy.name);
    this.#kindIds.set(text, this.#kinds.length);
    this.#kinds.push({ rule: triableRule(policy), cost, policy: place, isShadow });
    return this.#kinds.length - 1;
  }

  #policyId(policy: Policy): number {
    let id = this.#policyOf.get(policy);
    if (id === undefined) {
      const text = JSON.stringify(policy);
      id = this.#policyIds.get(text) ?? this.#policyIds.size;
      this.#policyIds.set(text, id);
      this.#policyOf.set(policy, id);
    }
    return id;
  }
}
