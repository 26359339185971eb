/** Plays the beats of a story: how fast time goes, where it stands, what is asked and said. It knows no clock: it is told how much time has passed. */
import type { Beat, Facts, Story } from '../model/stories/story.ts';

/** How long a text is left to be read before time goes on by itself, in milliseconds. */
const READING_MS = 1_500;
const PER_WORD_MS = 300;
/** A question waits longer: it is to be thought about. */
const THINKING_MS = 6_000;

/** What is said at a moment of a story. */
export interface Said {
  readonly text: string;
  readonly row: string | undefined;
}

export interface Asked {
  readonly text: string;
  readonly choices: readonly string[];
}

export class Player {
  readonly story: Story;
  #beat = 0;
  /** How much longer time stands, in milliseconds; 0 when it does not. */
  #left = 0;
  #whole = 0;
  #chosen: string | undefined;
  /** A question that was answered and whose right answer is not told yet. */
  #open: Beat['ask'];
  #said: Said;
  /** Whether time can be made to stand and to go slower: it is found, not made, where a server decides. */
  readonly #rulesTime: boolean;

  constructor(story: Story, rulesTime: boolean) {
    this.story = story;
    this.#rulesTime = rulesTime;
    this.#said = { text: story.about, row: story.beats[0]?.row };
  }

  /** How fast time goes, as a share of normal. */
  get pace(): number {
    if (!this.#rulesTime) return 1;
    for (let index = this.#beat; index >= 0; index -= 1) {
      const pace = this.story.beats[index]?.pace;
      if (pace !== undefined) return pace;
    }
    return 1;
  }

  get isHeld(): boolean {
    return this.#left > 0;
  }

  /** For how long time stands in all, in milliseconds, where it stands now. */
  get heldMs(): number {
    return this.#whole;
  }

  get said(): Said {
    return this.#said;
  }

  /** The question that time stands for. */
  get asked(): Asked | undefined {
    const ask = this.isHeld && this.#chosen === undefined ? this.story.beats[this.#beat]?.ask : undefined;
    return ask;
  }

  /** Where time has to stop for the next beat; the end when there is none. */
  get nextStop(): number {
    return this.story.beats[this.#beat + 1]?.at ?? this.story.end;
  }

  /** Which beat of how many, counted from 1. */
  get place(): { readonly beat: number; readonly of: number } {
    return { beat: this.#beat + 1, of: this.story.beats.length };
  }

  /** Real time that passes while time stands. Says whether it goes on now. */
  wait(elapsed: number): boolean {
    if (this.#left <= 0) return true;
    if (this.#left <= elapsed) this.choose(undefined);
    else this.#left -= elapsed;
    return this.#left === 0;
  }

  /** An answer to the question, or none: time goes on. */
  choose(choice: string | undefined): void {
    const { ask, row } = this.story.beats[this.#beat] ?? {};
    if (this.isHeld && ask !== undefined) {
      this.#chosen = choice;
      this.#open = ask;
      this.#said = {
        text: choice === undefined ? 'Watch what happens.' : `You say ${choice}. Watch what happens.`,
        row,
      };
    }
    this.#left = 0;
  }

  /** Time has come to where the next beats begin, or past them. */
  reached(time: number, facts: () => Facts): void {
    while (this.#beat + 1 < this.story.beats.length && time >= this.story.beats[this.#beat + 1]!.at - 1e-6) {
      this.#beat += 1;
      this.#begin(this.story.beats[this.#beat]!, facts);
    }
  }

  /** It is over: what there is to learn is said. */
  end(facts: () => Facts): void {
    const told = this.#resolve({ tells: true }, facts);
    const point = this.story.point(facts());
    this.#left = 0;
    this.#said = { text: told === undefined ? point : `${told} ${point}`, row: undefined };
  }

  #begin(beat: Beat, facts: () => Facts): void {
    const told = this.#resolve(beat, facts);
    const caption = beat.caption?.(facts());
    if (caption !== undefined || told !== undefined) {
      this.#said = { text: [told, caption].filter((text) => text !== undefined).join(' '), row: beat.row };
    }
    if (beat.ask !== undefined) this.#said = { text: beat.ask.text, row: beat.row };
    if (!this.#rulesTime) {
      this.#open = undefined;
      return;
    }
    const holds = beat.holds === true || beat.ask !== undefined;
    this.#whole = holds ? readingTime(this.#said.text) + (beat.ask === undefined ? 0 : THINKING_MS) : 0;
    this.#left = this.#whole;
    if (beat.ask !== undefined) this.#chosen = undefined;
  }

  /** What was right, as soon as there is something to say. */
  #resolve(beat: Pick<Beat, 'tells'>, facts: () => Facts): string | undefined {
    const open = this.#open;
    if (open === undefined || beat.tells !== true) return undefined;
    this.#open = undefined;
    if (this.#chosen === undefined) return undefined;
    const right = open.answer(facts());
    return this.#chosen === right ? 'Right.' : `You said ${this.#chosen}, and it is ${right}.`;
  }
}

function readingTime(text: string): number {
  return READING_MS + text.split(' ').length * PER_WORD_MS;
}
