/**
 * Reads the machine's apt sources to learn which mirror serves its own distribution. Reads only: what is derived here
 * goes into a private source list, the machine's configuration stays as it is.
 */

import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** One distribution at one mirror, as the machine's administrator chose and trusts it. */
export interface Mirror {
  readonly uri: string;
  readonly suite: string;
  readonly components: readonly string[];
  /** For example `signed-by=/usr/share/keyrings/some.gpg`. */
  readonly options: readonly string[];
}

/** The mirror of the distribution itself, not of third parties that publish for it. */
export async function findMirror(aptFolder = '/etc/apt', releaseFile = '/etc/os-release'): Promise<Mirror> {
  const codename = /^VERSION_CODENAME="?([^"\n]+)/m.exec(await readFile(releaseFile, 'utf8'))?.[1];
  const mirror = chooseMirror(await readMirrors(aptFolder), codename);
  if (mirror === undefined) throw new Error(`no apt source in ${aptFolder} serves ${codename ?? 'this distribution'}`);
  return mirror;
}

export function sourceLine(mirror: Mirror, suite = mirror.suite): string {
  const options = mirror.options.length > 0 ? `[${mirror.options.join(' ')}] ` : '';
  return `deb ${options}${mirror.uri} ${suite} ${mirror.components.join(' ')}`;
}

/** Third parties publish for "bookworm" too, but only the distribution has a "bookworm-updates" beside it. */
export function chooseMirror(mirrors: readonly Mirror[], codename: string | undefined): Mirror | undefined {
  const suites = [codename, 'stable', 'testing', 'unstable', 'sid'];
  const own = mirrors.filter(({ suite, components }) => suites.includes(suite) && components.includes('main'));
  const hasUpdates = ({ uri, suite }: Mirror) =>
    mirrors.some((other) => other.uri === uri && other.suite === `${suite}-updates`);
  return own.find(hasUpdates) ?? own[0];
}

/** The one-line format: `deb [option=value ...] uri suite component ...`. */
export function parseOneLineSources(text: string): Mirror[] {
  const lines = text.matchAll(/^\s*deb\s+(?:\[([^\]]*)\]\s*)?([^\s#]+)\s+([^\s#]+)([^#\n]*)/gm);
  return [...lines].map(([, options = '', uri = '', suite = '', components = '']) => ({
    uri,
    suite,
    components: words(components),
    options: words(options),
  }));
}

/** The deb822 format: paragraphs of `Field: values`, where one paragraph can name several mirrors and suites. */
export function parseParagraphSources(text: string): Mirror[] {
  const withoutComments = text.replace(/^#.*\n?/gm, '');
  return withoutComments.split(/\n\s*\n/).flatMap(mirrorsOfParagraph);
}

function mirrorsOfParagraph(paragraph: string): Mirror[] {
  const field = (name: string) => words(new RegExp(`^${name}:(.*(?:\\n[ \\t].*)*)`, 'im').exec(paragraph)?.[1] ?? '');
  if (!field('Types').includes('deb') || field('Enabled')[0] === 'no') return [];
  const components = field('Components');
  const options = ['Signed-By', 'Trusted'].flatMap((name) => {
    const value = field(name);
    // A key written out in the paragraph has many words and no place in the one-line format.
    return value.length === 1 ? [`${name.toLowerCase()}=${value[0]}`] : [];
  });
  return field('URIs').flatMap((uri) => field('Suites').map((suite) => ({ uri, suite, components, options })));
}

async function readMirrors(aptFolder: string): Promise<Mirror[]> {
  const partsFolder = join(aptFolder, 'sources.list.d');
  const parts = (await readdir(partsFolder).catch(() => [])).sort();
  const files = [join(aptFolder, 'sources.list'), ...parts.map((name) => join(partsFolder, name))];
  const mirrors = await Promise.all(files.map(readMirrorFile));
  return mirrors.flat().filter(({ uri }) => !uri.startsWith('cdrom:'));
}

async function readMirrorFile(file: string): Promise<Mirror[]> {
  const text = await readFile(file, 'utf8').catch(() => '');
  if (file.endsWith('.sources')) return parseParagraphSources(text);
  return file.endsWith('.list') ? parseOneLineSources(text) : [];
}

function words(text: string): string[] {
  return text.split(/\s+/).filter((word) => word !== '');
}
