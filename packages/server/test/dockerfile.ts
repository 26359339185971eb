/**
 * Runs the steps of a Dockerfile without a container, in one folder for each stage, as far as that is possible: files are copied, commands run.
 * Base images and users are not there, and dependencies are not downloaded again but linked from this workspace.
 */
import { execFile } from 'node:child_process';
import { cp, mkdir, readdir, readFile, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

export interface Stage {
  readonly name: string;
  /** Of this machine, what is `/` in the image. */
  readonly root: string;
  workdir: string;
  readonly environment: Record<string, string>;
  entrypoint: readonly string[];
  command: readonly string[];
  healthcheck: readonly string[];
  user: string;
  readonly ports: number[];
}

interface Instruction {
  readonly word: string;
  readonly rest: string;
}

export function parseDockerfile(text: string): Instruction[] {
  const lines = text
    .replaceAll(/^\s*#.*\n/gm, '')
    .replaceAll(/\\\n\s*/g, '')
    .split('\n');
  return lines.flatMap((line) => {
    const [, word, rest] = /^([A-Z]+)\s+(.*)$/.exec(line) ?? [];
    return word === undefined ? [] : [{ word, rest: rest!.trim() }];
  });
}

/** The last stage. `context` is the folder that would be sent to Docker, `folder` an empty one. */
export async function runDockerfile(context: string, folder: string): Promise<Stage> {
  const stages: Stage[] = [];
  for (const { word, rest } of parseDockerfile(await readFile(join(context, 'Dockerfile'), 'utf8'))) {
    if (word === 'FROM') stages.push(newStage(rest, join(folder, String(stages.length))));
    else await run(word, rest, stages, context);
  }
  return stages.at(-1)!;
}

function newStage(rest: string, root: string): Stage {
  const [, name = ''] = / AS (\w+)$/i.exec(rest) ?? [];
  const nothing = { entrypoint: [], command: [], healthcheck: [], user: 'root', ports: [] };
  return { name, root, workdir: '/', environment: {}, ...nothing };
}

async function run(word: string, rest: string, stages: readonly Stage[], context: string): Promise<void> {
  const stage = stages.at(-1)!;
  const here = join(stage.root, stage.workdir);
  if (word === 'WORKDIR') {
    stage.workdir = rest;
    await mkdir(join(stage.root, rest), { recursive: true });
  } else if (word === 'ENV') {
    for (const [, name, value] of rest.matchAll(/(\w+)=(\S+)/g)) stage.environment[name!] = value!;
  } else if (word === 'COPY') await copy(rest, here, stages, context);
  else if (word === 'RUN') await runCommand(rest, here, context);
  else if (word === 'USER') stage.user = rest;
  else if (word === 'EXPOSE') stage.ports.push(...rest.split(' ').map(Number));
  else if (word === 'ENTRYPOINT') stage.entrypoint = JSON.parse(rest);
  else if (word === 'CMD') stage.command = JSON.parse(rest);
  else if (word === 'HEALTHCHECK') stage.healthcheck = JSON.parse(rest.slice(rest.indexOf('CMD ') + 4));
  else if (word !== 'STOPSIGNAL') throw new Error(`what is ${word}?`);
}

async function copy(rest: string, here: string, stages: readonly Stage[], context: string): Promise<void> {
  const [, from, paths] = /^(?:--from=(\w+) )?(.*)$/.exec(rest)!;
  const names = paths!.split(' ');
  const target = join(here, names.at(-1)!);
  const source = stages.find(({ name }) => name === from);
  const ignored = source === undefined ? await ignoring(context) : () => false;
  for (const name of names.slice(0, -1)) {
    const origin = join(source?.root ?? context, name);
    const isFile = !name.endsWith('/') && name !== '.';
    await mkdir(target, { recursive: true });
    await cp(origin, isFile ? join(target, name.split('/').at(-1)!) : target, {
      recursive: true,
      verbatimSymlinks: true,
      filter: (file) => !ignored(file.slice(context.length + 1)),
    });
  }
}

/** What .dockerignore says of a path: the last line that matches it, or a folder that it is in, decides. */
async function ignoring(context: string): Promise<(path: string) => boolean> {
  const text = await readFile(join(context, '.dockerignore'), 'utf8');
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  const rules = lines.map((line) => ({
    isKept: line.startsWith('!'),
    path: line.replace('!', ''),
    pattern: patternOf(line.replace('!', '')),
  }));
  return (path) => {
    if (path === '') return false;
    const parts = path.split('/');
    const folders = parts.map((_, index) => parts.slice(0, index + 1).join('/'));
    const last = rules.filter(({ pattern }) => folders.some((folder) => pattern.test(folder))).at(-1);
    const leadsToKept = rules.some((rule) => rule.isKept && rule.path.startsWith(`${path}/`));
    return last !== undefined && !last.isKept && !leadsToKept;
  };
}

/** A star stands for anything in one name, two for any folders. */
function patternOf(line: string): RegExp {
  const parts = line.split(/(\*\*\/|\*)/).map((part) => {
    if (part === '**/') return '(?:.*/)?';
    return part === '*' ? '[^/]*' : part.replaceAll('.', '\\.');
  });
  return new RegExp(`^${parts.join('')}$`);
}

async function runCommand(command: string, here: string, context: string): Promise<void> {
  if (command.startsWith('npm ci')) return linkDependencies(here, context);
  const options = { cwd: here, env: { ...process.env, CI: '1' } };
  await promisify(execFile)('sh', ['-c', command], options).catch((error) => {
    // The compiler says on its standard output what it has found, which the error does not quote.
    throw new Error(`${error.message}\n${error.stdout}`, { cause: error });
  });
}

/** Members of the workspace are links into it, as npm makes them; all others are links to what is installed. */
async function linkDependencies(here: string, context: string): Promise<void> {
  const installed = join(context, 'node_modules');
  const target = join(here, 'node_modules');
  for (const name of await readdir(installed)) {
    const scope = name.startsWith('@')
      ? (await readdir(join(installed, name))).map((inner) => `${name}/${inner}`)
      : [name];
    for (const dependency of scope) {
      await mkdir(dirname(join(target, dependency)), { recursive: true });
      const member = dependency.startsWith('@sluice/') ? dependency.slice('@sluice/'.length) : dependency;
      const own = member === 'tools' ? join(here, 'tools') : join(here, 'packages', member);
      const isMember = dependency === 'sluice' || dependency.startsWith('@sluice/');
      await symlink(isMember ? own : join(installed, dependency), join(target, dependency));
    }
  }
}
