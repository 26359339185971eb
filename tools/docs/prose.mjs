/** Markdown as prose: what a reader reads of a page, sentence by sentence, with line numbers. Code, addresses and markup are left out. */

/**
 * @typedef {{ readonly kind: 'heading' | 'paragraph' | 'item' | 'cell' | 'code', readonly line: number, readonly text: string, readonly language?: string, readonly level?: number }} Piece
 */

/**
 * The pieces of a page in their order. A paragraph keeps its line breaks; a list item and the cell of a table are pieces of their own.
 * @param {string} markdown
 * @returns {Piece[]}
 */
export function piecesOf(markdown) {
  const lines = withoutComments(markdown).split('\n');
  const pieces = [];
  let open;
  const close = () => {
    if (open !== undefined) pieces.push(open);
    open = undefined;
  };
  for (let at = frontMatterEnd(lines); at < lines.length; at++) {
    const line = lines[at];
    const fence = /^\s*(`{3,}|~{3,})(\w*)/.exec(line);
    if (fence !== null) {
      close();
      const end = endOfFence(lines, at, fence[1]);
      pieces.push({ kind: 'code', line: at + 1, language: fence[2], text: lines.slice(at + 1, end).join('\n') });
      at = end;
    } else if (/^#{1,6} /.test(line)) {
      close();
      const [, marks, text] = /^(#+) (.*)$/.exec(line);
      pieces.push({ kind: 'heading', line: at + 1, level: marks.length, text });
    } else if (/^\s*\|.*\|\s*$/.test(line)) {
      close();
      pieces.push(...cellsOf(line).map((text) => ({ kind: 'cell', line: at + 1, text })));
    } else if (/^( {0,3}|\s+)([-*+]|\d+\.) /.test(line)) {
      close();
      open = { kind: 'item', line: at + 1, text: line.replace(/^\s*([-*+]|\d+\.) (\[.\] )?/, '') };
    } else if (line.trim() === '' || isIndentedCode(line, open)) {
      close();
    } else if (open === undefined) {
      open = { kind: 'paragraph', line: at + 1, text: line.trim() };
    } else open = { ...open, text: `${open.text}\n${line.trim()}` };
  }
  close();
  return pieces;
}

/** The fields between the two `---` lines at the head of a page: one line each, plain text. */
export function frontMatterOf(markdown) {
  const lines = markdown.split('\n');
  const end = frontMatterEnd(lines);
  const fields = lines.slice(1, Math.max(1, end - 1)).map((line) => /^([\w-]+):\s*(.*)$/.exec(line));
  return Object.fromEntries(fields.filter((field) => field !== null).map(([, name, value]) => [name, value]));
}

function frontMatterEnd(lines) {
  if (lines[0] !== '---') return 0;
  return lines.indexOf('---', 1) + 1;
}

/** As many lines as before, so that numbers stay true. */
function withoutComments(markdown) {
  return markdown.replace(/<!--.*?-->/gs, (comment) => comment.replace(/[^\n]/g, ''));
}

function endOfFence(lines, start, fence) {
  const end = lines.findIndex((line, at) => at > start && line.trim().startsWith(fence));
  return end < 0 ? lines.length : end;
}

function isIndentedCode(line, open) {
  return open === undefined && /^ {4}/.test(line);
}

function cellsOf(row) {
  const cells = row
    .trim()
    .replace(/^\||\|$/g, '')
    .split(/(?<!\\)\|/);
  return cells.map((cell) => cell.trim()).filter((cell) => cell !== '' && !/^:?-+:?$/.test(cell));
}

/** What is read of it: code is one word, a link is its text, a picture is nothing. */
export function readable(text) {
  return text
    .replace(/(`+)[^`](?:.*?[^`])?\1/gs, (code) => `code${code.replace(/[^\n]/g, '')}`)
    .replace(/!\[[^\]]*\]\([^)]*\)/g, '')
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/<\/?[a-zA-Z][^>]*>/g, '')
    .replace(/\bhttps?:\/\/\S+/g, 'address')
    .replace(/\*\*|__|(?<!\w)[*_]|[*_](?!\w)/g, '');
}

/** The sentences of a piece, each with its line. A colon or a semicolon ends none. */
export function sentencesOf({ text, line }) {
  const prose = readable(text);
  const sentences = [];
  let start = 0;
  const add = (end) => {
    const sentence = prose.slice(start, end);
    const before = prose.slice(0, start + sentence.length - sentence.trimStart().length);
    if (sentence.trim() !== '') {
      sentences.push({ text: sentence.trim().replace(/\s+/g, ' '), line: line + before.split('\n').length - 1 });
    }
    start = end;
  };
  for (const { index, 0: end } of prose.matchAll(/(?<!\b(?:e\.g|i\.e|vs|etc))[.!?]["'”’)\]]*(?=\s+\S)/g))
    add(index + end.length);
  add(prose.length);
  return sentences;
}

export function wordsIn(text) {
  return text.split(/\s+/).filter((word) => /[\p{Letter}\p{Number}]/u.test(word)).length;
}
