/** A model that is no model: it says the prompt again, at most so long. A token is a word here. */

export interface ModelAnswer {
  readonly text: string;
  /** Tokens of the prompt and of the answer. */
  readonly used: number;
}

export function countTokens(text: string): number {
  return text.split(/\s+/).filter(Boolean).length;
}

export async function askModel(prompt: string, maxTokens: number): Promise<ModelAnswer> {
  if (prompt === 'crash') throw new Error('The model is not well');
  const text = prompt.split(/\s+/).slice(0, maxTokens).join(' ');
  return { text, used: countTokens(prompt) + countTokens(text) };
}
