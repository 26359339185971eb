/** Colours for code: enough to tell words, texts and comments apart, by one expression for each language. */
import type { CodeFile } from './code.ts';

export type TokenKind = 'plain' | 'comment' | 'string' | 'keyword' | 'number' | 'name';

export interface Token {
  readonly kind: TokenKind;
  readonly text: string;
}

const KEYWORDS = 'import|from|const|await|async|new|export|return|class|if|else|default';

const RULES: Readonly<Record<CodeFile['language'], RegExp>> = {
  ts: new RegExp(
    String.raw`(?<comment>\/\/.*)|(?<string>'[^']*'|\`[^\`]*\`)|(?<keyword>\b(?:${KEYWORDS})\b|@\w+)|(?<number>\b\d[\d_.]*\b)|(?<name>\b\w+(?=\())`,
    'g',
  ),
  yaml: /(?<comment>#.*)|(?<name>[\w-]+(?=:))|(?<number>\b\d[\d.]*\b)/g,
  sh: /(?<comment>#.*)|(?<string>'[^']*')|(?<name>^\w+)|(?<keyword> --?[\w-]+)/gm,
};

export function tokensOf({ language, text }: Pick<CodeFile, 'language' | 'text'>): readonly Token[] {
  const tokens: Token[] = [];
  let end = 0;
  for (const match of text.matchAll(RULES[language])) {
    const [kind] = Object.entries(match.groups!).find(([, found]) => found !== undefined)!;
    if (match.index > end) tokens.push({ kind: 'plain', text: text.slice(end, match.index) });
    tokens.push({ kind: kind as TokenKind, text: match[0] });
    end = match.index + match[0].length;
  }
  if (end < text.length) tokens.push({ kind: 'plain', text: text.slice(end) });
  return tokens;
}
