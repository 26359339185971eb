/** Which keys were changed since a moment: enough of the past to judge the attempts that are under way, and no more. */

/** If more keys were changed while an attempt was under way, it is taken for changed: that costs one more question to the store. */
const REMEMBERED = 256;

export class RecentKeys {
  readonly #keys: string[] = [];
  /** Changes up to now. */
  noted = 0;

  note(key: string): void {
    this.#keys[this.noted % REMEMBERED] = key;
    this.noted += 1;
  }

  has(key: string, since: number): boolean {
    if (this.noted - since > REMEMBERED) return true;
    for (let at = since; at < this.noted; at += 1) {
      if (this.#keys[at % REMEMBERED] === key) return true;
    }
    return false;
  }
}
