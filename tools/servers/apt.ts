/**
 * Two ways to get a Debian package: installed by apt, which needs root, or unpacked into a folder of ours, which does
 * not. The second keeps its package lists to itself, so the machine's apt neither sees nor remembers it.
 */

import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { findMirror, type Mirror, sourceLine } from './apt-sources.ts';
import { runProgram } from './run-program.ts';

const QUIET_INSTALL = ['-q', '-y', '--no-install-recommends'];
const WAIT_FOR_OTHER_APT = ['-o', 'DPkg::Lock::Timeout=120'];

export async function installSystemPackage(name: string): Promise<void> {
  // One broken third-party source makes the update "fail" although the package was found: the installation decides.
  await runProgram('apt-get', ['-q', 'update', ...WAIT_FOR_OTHER_APT]).catch(() => undefined);
  const env = { DEBIAN_FRONTEND: 'noninteractive' };
  await runProgram('apt-get', [...QUIET_INSTALL, ...WAIT_FOR_OTHER_APT, 'install', name], env);
}

/** Debian starts a server as it installs it. On a machine without an init system there is nothing to stop. */
export async function stopSystemService(name: string): Promise<void> {
  await runProgram('service', [name, 'stop']).catch(() => undefined);
}

/**
 * Unpacks packages, and whatever they depend on that this machine lacks, below `folder`. Backports are asked only when
 * the distribution itself does not have them.
 */
export async function unpackPackages(names: readonly string[], folder: string): Promise<void> {
  const workFolder = `${folder}.apt`;
  await rm(workFolder, { recursive: true, force: true });
  try {
    const archives = await downloadPackages(names, workFolder);
    await mkdir(folder, { recursive: true });
    for (const archive of archives) await runProgram('dpkg', ['-x', archive, folder]);
  } finally {
    await rm(workFolder, { recursive: true, force: true });
  }
}

async function downloadPackages(names: readonly string[], workFolder: string): Promise<string[]> {
  const mirror = await findMirror();
  const archives = join(workFolder, 'archives');
  await mkdir(join(workFolder, 'lists', 'partial'), { recursive: true });
  await mkdir(join(archives, 'partial'), { recursive: true });
  try {
    await downloadFrom(mirror, [mirror.suite], names, workFolder);
  } catch {
    await downloadFrom(mirror, [mirror.suite, `${mirror.suite}-backports`], names, workFolder);
  }
  const files = await readdir(archives);
  return files.filter((file) => file.endsWith('.deb')).map((file) => join(archives, file));
}

async function downloadFrom(
  mirror: Mirror,
  suites: readonly string[],
  names: readonly string[],
  workFolder: string,
): Promise<void> {
  const sourceList = join(workFolder, 'sources.list');
  await writeFile(sourceList, suites.map((suite) => `${sourceLine(mirror, suite)}\n`).join(''));
  const options = privateAptOptions(workFolder, sourceList);
  await runProgram('apt-get', ['-q', 'update', ...options]);
  // Without --reinstall a package that the machine has, but not in our PATH, would not be downloaded.
  const install = ['--download-only', '--reinstall', 'install', ...names];
  await runProgram('apt-get', [...QUIET_INSTALL, ...options, ...install]);
}

function privateAptOptions(workFolder: string, sourceList: string): string[] {
  const settings = [
    `Dir::Etc::SourceList=${sourceList}`,
    'Dir::Etc::SourceParts=/dev/null',
    `Dir::State::Lists=${join(workFolder, 'lists')}`,
    `Dir::Cache=${workFolder}`,
    `Dir::Cache::Archives=${join(workFolder, 'archives')}`,
    // Nothing of the machine is written, so its lock, which only root can take, is not needed.
    'Debug::NoLocking=1',
    // As root, apt downloads as a user of its own that may not be allowed into our folder.
    'APT::Sandbox::User=root',
    'Acquire::Languages=none',
    // By default an update that reached nobody is a success with warnings.
    'APT::Update::Error-Mode=any',
  ];
  return settings.flatMap((setting) => ['-o', setting]);
}
