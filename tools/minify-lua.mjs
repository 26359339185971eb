/**
 * Makes the scripts short, because whoever bundles the library carries them: names of one or two letters for what a script declares, no
 * blanks that Lua does not need, and one text of which every script is a few pieces, because they have most of their lines in common.
 */

const TOKEN = /'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[A-Za-z_]\w*|\d[\w.]*|\.{2,3}|[<>=~]=|\s+|./g;
const WORD = /^[A-Za-z_]/;
const KEYWORDS = new Set(
  'and break do else elseif end false for function if in local nil not or repeat return then true until while'.split(
    ' ',
  ),
);
const LETTERS = [...'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ'];

/** The same names in all of them, so that lines that were the same still are. A name stands for a name, so scopes stay as they are. */
export function minifyLua(scripts) {
  const tokenised = scripts.map((script) => marked(script.match(TOKEN)));
  const names = shortNames(tokenised.flat());
  return tokenised.map((tokens) =>
    joined(tokens.map(({ text, isName }) => (isName ? (names.get(text) ?? text) : text))),
  );
}

/** Says of each token whether it is a name, and not a field (`log.head`, `{ head = 0 }`), which is known by what it is called. */
function marked(tokens) {
  const open = [];
  const solid = tokens.map((text) => !/^\s/.test(text));
  const next = (from, step) => {
    let at = from + step;
    while (solid[at] === false) at += step;
    return tokens[at];
  };
  return tokens.map((text, at) => {
    if (text === '{' || text === '(') open.push(text);
    if (text === '}' || text === ')') open.pop();
    const before = next(at, -1);
    const isKey = open.at(-1) === '{' && (before === '{' || before === ',') && next(at, 1) === '=';
    const isName = WORD.test(text) && !KEYWORDS.has(text) && before !== '.' && before !== ':' && !isKey;
    return { text, isName };
  });
}

/** The shortest for the most frequent. What is declared nowhere belongs to Redis. */
function shortNames(tokens) {
  const declared = declaredIn(tokens.filter(({ text }) => !/^\s/.test(text)));
  const taken = new Set([
    ...KEYWORDS,
    ...tokens.filter((token) => token.isName && !declared.has(token.text)).map(({ text }) => text),
  ]);
  const uses = new Map();
  for (const { text, isName } of tokens) if (isName && declared.has(text)) uses.set(text, (uses.get(text) ?? 0) + 1);
  const short = [...LETTERS, ...LETTERS.flatMap((first) => LETTERS.map((second) => first + second))];
  const free = short.filter((name) => !taken.has(name));
  return new Map([...uses].sort((one, other) => other[1] - one[1]).map(([name], index) => [name, free[index]]));
}

/** What follows `local`, `for`, and the name and parameters of a function. */
function declaredIn(tokens) {
  const declared = new Set();
  const isName = (at) => tokens[at]?.isName;
  for (let at = 0; at < tokens.length; at += 1) {
    const { text } = tokens[at];
    if (text !== 'local' && text !== 'for' && text !== 'function') continue;
    let name = at + 1;
    if (text === 'local' && tokens[name].text === 'function') continue;
    if (text === 'function') {
      if (isName(name)) declared.add(tokens[name++].text);
      name += 1;
    }
    for (; isName(name); name += 2) {
      declared.add(tokens[name].text);
      if (tokens[name + 1]?.text !== ',') break;
    }
  }
  return declared;
}

/** A blank stays where two words, or two signs with another meaning together (`- -`, `1 ..`), would become one. */
function joined(tokens) {
  let text = '';
  for (const [at, token] of tokens.entries()) {
    if (!/^\s/.test(token)) text += token;
    else if (token.includes('\n')) text += '\n';
    else if (/\w\w|--|\d\.|\.\d/.test(`${text.at(-1)}${tokens[at + 1]?.[0]}`)) text += ' ';
  }
  return text;
}

/** Shorter pieces cost more to point at than to repeat: what compresses the bundle finds them again. */
const SHORTEST_PIECE = 400;

/** One text, and for each script where its pieces begin and end in it: `[from, to, from, to, ...]`. */
export function shareText(scripts) {
  const lines = [];
  const pieces = scripts.map((script) => piecesOf(script.split('\n'), lines));
  const starts = [0];
  for (const line of lines) starts.push(starts.at(-1) + line.length + 1);
  // A piece ends before the newline of its last line; it is put back where pieces are joined.
  const places = pieces.map((list) => list.flatMap(([from, to]) => [starts[from], starts[to] - 1]));
  return { text: lines.join('\n'), places };
}

function piecesOf(script, lines) {
  const pieces = [];
  const add = (from, to) => {
    const last = pieces.at(-1);
    if (last?.[1] === from) last[1] = to;
    else pieces.push([from, to]);
  };
  for (let at = 0; at < script.length; ) {
    const found = longestRun(script, at, lines);
    const length = script.slice(at, at + found.count).join('\n').length;
    if (length >= SHORTEST_PIECE) {
      add(found.from, found.from + found.count);
      at += found.count;
    } else {
      lines.push(script[at]);
      add(lines.length - 1, lines.length);
      at += 1;
    }
  }
  return pieces;
}

function longestRun(script, at, lines) {
  let longest = { from: 0, count: 0 };
  for (let from = 0; from < lines.length; from += 1) {
    let count = 0;
    while (at + count < script.length && lines[from + count] === script[at + count]) count += 1;
    if (count > longest.count) longest = { from, count };
  }
  return longest;
}
