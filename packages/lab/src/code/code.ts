/** A limit as code, in files: for a framework, for no framework, or as a service. */
import type { CodeChoice } from './choice.ts';
import { frameworkCode, libraryCode } from './frameworks.ts';
import type { Coded } from './policy-code.ts';
import { serviceCommands, serviceYaml } from './service.ts';

export interface CodeFile {
  readonly name: string;
  readonly language: 'ts' | 'yaml' | 'sh';
  readonly text: string;
}

/** In the order in which they are needed. */
export function codeFiles(coded: Coded, choice: CodeChoice, cost = 1): readonly CodeFile[] {
  const { framework } = choice;
  if (framework === 'service') {
    return [
      { name: 'policies.yaml', language: 'yaml', text: serviceYaml(coded, choice) },
      { name: 'Serve it', language: 'sh', text: serviceCommands(coded, choice, cost) },
    ];
  }
  const { packages, code } =
    framework === 'library' ? libraryCode(coded, choice, cost) : frameworkCode(framework, coded, choice, cost);
  return [
    { name: 'Install', language: 'sh', text: `npm install ${packages.join(' ')}\n` },
    { name: 'server.ts', language: 'ts', text: code },
  ];
}
