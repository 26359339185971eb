/** A model that is no model: it says the prompt again, at most so long. A token is a word here. */

export interface ModelAnswer {
  readonly text: string;
  /** Tokens of the prompt and of the answer. */
  readonly used: number;
  /** What the provider says of its limits: sometimes nothing. */
  readonly headers: Headers;
  /** The same answer as a stream: word by word, and the usage at the end. */
  events(): AsyncGenerator<object>;
}

export function countTokens(text: string): number {
  return text.split(/\s+/).filter(Boolean).length;
}

export async function askModel(prompt: string, maxTokens: number): Promise<ModelAnswer> {
  if (prompt === 'crash') throw new Error('The model is not well');
  const words = prompt.split(/\s+/).slice(0, maxTokens);
  const used = countTokens(prompt) + words.length;
  return {
    text: words.join(' '),
    used,
    headers: new Headers(prompt === 'headless' ? {} : { 'x-ratelimit-remaining-tokens': '19000' }),
    async *events() {
      for (const word of words) yield { choices: [{ delta: { content: word } }] };
      yield { choices: [], usage: { total_tokens: used } };
    },
  };
}
