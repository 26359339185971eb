/** Wraps paragraphs and list items again, where one of their lines is too long. Everything else of a page stays as it is. */

import { piecesOf } from './prose.mjs';

export function wrapped(markdown, width) {
  const lines = markdown.split('\n');
  const prose = piecesOf(markdown).filter(({ kind, text }) => /paragraph|item/.test(kind) && !/^[<>|]/.test(text));
  for (const { line, text } of prose.reverse()) {
    const count = text.split('\n').length;
    const own = lines.slice(line - 1, line - 1 + count);
    if (own.every((each) => each.length <= width) || own.some((each) => / {2}$|\\$/.test(each))) continue;
    lines.splice(line - 1, count, ...wrapLines(own, width));
  }
  return lines.join('\n');
}

function wrapLines(own, width) {
  const [head] = /^\s*(?:(?:[-*+]|\d+\.) (?:\[.\] )?)?/.exec(own[0]);
  const indent = own.length > 1 ? /^\s*/.exec(own[1])[0] : ' '.repeat(head.replace(/\[.\] $/, '').length);
  const words =
    own
      .join('\n')
      .slice(head.length)
      .match(/(?:`[^`]*`|\S)+/g) ?? [];
  const lines = [];
  let line = head;
  for (const word of words.map((each) => each.replace(/\s+/g, ' '))) {
    const isFirst = line === head && lines.length === 0;
    if (!isFirst && line.length + 1 + word.length > width && !/^(?:[-+*#>|]|\d+\.$)/.test(word)) {
      lines.push(line);
      line = `${indent}${word}`;
    } else line = isFirst || line.trim() === '' ? `${line}${word}` : `${line} ${word}`;
  }
  return [...lines, line];
}
