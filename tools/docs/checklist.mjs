/**
 * What every page that people read must have: a title that names a task, a short first paragraph, in a how-to a block to run on the first screen, no
 * sentence that has to be read twice, and one word for one thing. `node tools/check-docs.mjs` prints what fails.
 */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { frontMatterOf, piecesOf, readable, sentencesOf, wordsIn } from './prose.mjs';

const MOST_WORDS_OF_A_SENTENCE = 40;
/** The first paragraph has fewer than that. */
const FIRST_PARAGRAPH = 60;
/** Lines of Markdown that fit on the first screen. */
const FIRST_SCREEN = 30;
/** Columns of a line of prose. */
export const WIDTH = 100;

/** Pages outside docs/ that people read. */
const OUTSIDE = [
  'README.md',
  'packages/sluice/README.md',
  'packages/server/README.md',
  'examples/README.md',
  'examples/gateways/README.md',
];

/** Every page, by its path from the root of the project. */
export function allPages(root) {
  const inside = readdirSync(join(root, 'docs'), { recursive: true }).map(String);
  const pages = inside.filter((file) => file.endsWith('.md') && !/(^|\/)(node_modules|\.\w+)\//.test(file));
  return [...OUTSIDE, ...pages.map((file) => `docs/${file.replaceAll('\\', '/')}`).sort()];
}

/**
 * What a page is for decides what it must have. `kind: guide` in its front matter says otherwise.
 * - how-to: the title begins with a verb or asks a question, and a block to run is on the first screen.
 * - guide: the title begins with a verb or asks a question, or compares.
 * - reference: the title is the name of the thing. Also the front pages, which have blocks but no task.
 */
const KINDS = [
  [/^(README|packages\/\w+\/README|examples\/.*README)\.md$/, 'reference'],
  [/^docs\/(index|api|semantics|cases)\.md$|^docs\/(errors|decisions|algorithms|reference)\//, 'reference'],
  [/^docs\/engines\/(README|ports)\.md$|^docs\/operate\/versions\.md$/, 'reference'],
  [/^docs\/(start|recipes|migrating|compare|learn|llm|operate)\/README\.md$/, 'guide'],
  [/^docs\/(start|recipes|migrating|llm|engines)\//, 'how-to'],
  [/^docs\/operate\/(behind-a-proxy|kubernetes|metrics)\.md$/, 'how-to'],
  [/^docs\/(getting-started|llm|backtest|own-algorithm|stores|exceptions|unified|envoy|frameworks)\.md$/, 'how-to'],
  [/^docs\//, 'guide'],
];

export function kindOf(page, markdown) {
  return frontMatterOf(markdown).kind ?? KINDS.find(([pattern]) => pattern.test(page))?.[1] ?? 'guide';
}

/** Words that titles of tasks begin with. Add yours: it must be a verb that tells the reader what they will have done. */
const VERBS =
  'Add Allow Answer Ask Avoid Backtest Block Bring Build Call Change Check Choose Combine Compare Configure Connect Count Crawl Customise Debug Decide Deny Deploy Estimate Exempt Find Fix Follow Get Give Handle Install Keep Know Learn Limit Measure Migrate Monitor Move Operate Pick Plan Play Port Prepare Prove Protect Put Queue Rate-limit Read Report Reserve Reset Route Run Schedule Secure See Sell Send Serve Set Share Shed Simulate Size Slow Smooth Spend Start Stay Stop Store Survive Switch Test Trust Try Tune Understand Upgrade Use Wait Watch Work Wrap Write'.split(
    ' ',
  );
const TASK = new RegExp(
  `^(?:${VERBS.join('|')}|Rate limit)\\b|^(?:How|What|Which|When|Why|Who|Where|Should|Can|Is|Does)\\b`,
);
const COMPARISON = /^Sluice (?:or|and) /;

/** Languages of blocks that a reader can run or use as they are. */
const RUNNABLE = new Set([
  'ts',
  'typescript',
  'js',
  'javascript',
  'mjs',
  'tsx',
  'sh',
  'bash',
  'console',
  'yaml',
  'nginx',
  'py',
  'python',
  'go',
  'java',
  'rust',
  'php',
  'ruby',
]);

/** One word for one thing. */
const REPLACED = [
  [/\badmit(?:s|ted|ting)?\b|\badmissions?\b/i, 'allow'],
  [/\b(?:let|lets|letting) (?:\w+ ){0,3}through\b/i, 'allow'],
  [/\bgrant(?:s|ed|ing)?\b/i, 'allow'],
  [/(?<!connection )\brefus(?:e|es|ed|ing|al|als)\b/i, 'deny (for a limit), reject (for Redis)'],
  [/\b(?:send|sends|sent|sending|turn|turns|turned|turning) (?:\w+ )?away\b/i, 'deny'],
  [/\bas good as (?:new|absent)\b/i, 'reset, or missing'],
  [/\btold of\b/i, 'called with'],
  [/\bat once\b/i, 'synchronously, immediately or at the same time'],
  [/\b(?:that|which|who) (?:come|comes|came) along\b/i, 'inline'],
  [/\bin the shadow\b/i, 'as a dry run, in shadow mode'],
  [/\bwhoever\b/i, 'you, or: a client that'],
  [/\bwho is (?:denied|refused|limited) gets\b/i, 'denied requests get'],
  [/\bas nobody in particular\b/i, 'as a user other than root'],
  [/\b(?:leave|leaves|left|leaving) (?:all of (?:this|it)|\w+) away\b/i, 'leave out'],
];

/**
 * What is wrong with a page, each as a sentence with its line.
 * @returns {{ readonly rule: string, readonly line: number, readonly says: string }[]}
 */
export function findingsOf(page, markdown) {
  const pieces = piecesOf(markdown);
  const kind = kindOf(page, markdown);
  return [
    ...titleFindings(pieces, kind),
    ...firstParagraphFindings(pieces),
    ...firstScreenFindings(pieces, kind, markdown),
    ...sentenceFindings(pieces),
    ...wordFindings(pieces),
    ...widthFindings(pieces),
  ];
}

function titleFindings(pieces, kind) {
  const titles = pieces.filter(({ kind: piece, level }) => piece === 'heading' && level === 1);
  if (titles.length !== 1)
    return [{ rule: 'title', line: 1, says: `expected one title (# ...), got ${titles.length}` }];
  const [{ text, line }] = titles;
  const title = readable(text);
  if (kind === 'reference' || TASK.test(title) || (kind === 'guide' && COMPARISON.test(title))) return [];
  const says = `"${title}" names no task: begin with a verb (Limit, Run, Move, Choose ...) or ask a question (Which, How, When ...)`;
  return [{ rule: 'title', line, says }];
}

function firstParagraphFindings(pieces) {
  const first = pieces.find(({ kind }) => kind === 'paragraph');
  if (first === undefined) return [{ rule: 'first paragraph', line: 1, says: 'there is none' }];
  const words = wordsIn(readable(first.text));
  if (words < FIRST_PARAGRAPH) return [];
  return [{ rule: 'first paragraph', line: first.line, says: `${words} words; fewer than ${FIRST_PARAGRAPH}` }];
}

function firstScreenFindings(pieces, kind, markdown) {
  if (kind !== 'how-to') return [];
  const title = pieces.find(({ kind: piece }) => piece === 'heading')?.line ?? 1;
  const block = pieces.find(({ kind: piece, language }) => piece === 'code' && RUNNABLE.has(language));
  if (block !== undefined && block.line - title < FIRST_SCREEN) return [];
  const where =
    block === undefined
      ? 'there is no block to run'
      : `the first block to run is at line ${block.line} of ${markdown.split('\n').length}`;
  return [
    { rule: 'first screen', line: title, says: `${where}; a how-to has one within ${FIRST_SCREEN} lines of its title` },
  ];
}

function sentenceFindings(pieces) {
  const prose = pieces.filter(({ kind }) => kind !== 'code').flatMap(sentencesOf);
  return prose.flatMap(({ text, line }) => {
    const words = wordsIn(text);
    if (words <= MOST_WORDS_OF_A_SENTENCE) return [];
    return [
      {
        rule: 'sentence',
        line,
        says: `${words} words, at most ${MOST_WORDS_OF_A_SENTENCE}: "${text.slice(0, 70)}..."`,
      },
    ];
  });
}

function wordFindings(pieces) {
  const prose = pieces.filter(({ kind }) => kind !== 'code').flatMap(sentencesOf);
  return prose.flatMap(({ text, line }) =>
    REPLACED.flatMap(([pattern, instead]) => {
      const [found] = pattern.exec(text) ?? [];
      return found === undefined ? [] : [{ rule: 'word', line, says: `"${found}": write ${instead}` }];
    }),
  );
}

/** Lines of HTML, and those that an address makes long, are as they are. */
function widthFindings(pieces) {
  const prose = pieces.filter(({ kind }) => kind === 'paragraph' || kind === 'item');
  return prose.flatMap(({ text, line }) =>
    text.split('\n').flatMap((each, index) => {
      if (each.length <= WIDTH || each.startsWith('<') || /\]\([^)]{40,}\)|https?:\S{40,}/.test(each)) return [];
      return [{ rule: 'width', line: line + index, says: `${each.length} columns, at most ${WIDTH}` }];
    }),
  );
}

export function pageText(root, page) {
  return readFileSync(join(root, page), 'utf8');
}
