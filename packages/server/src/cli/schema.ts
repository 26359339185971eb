/** `sluice schema`: the JSON schema of config files, for editors. */
import { CONFIG_SCHEMA } from '../config/schema.ts';
import { ENVOY_SCHEMA } from '../envoy/schema.ts';
import type { Command } from './command.ts';
import { EXIT, UsageError } from './terminal.ts';

export const schemaCommand: Command = {
  name: 'schema',
  summary: 'Prints the JSON schema of config files, for editors.',
  help: `Usage: sluice schema [--envoy]

  --envoy  the schema of config files for Envoy, which have a domain
  --json   changes nothing, because a schema is JSON; for scripts that always pass it

Examples:
  sluice schema > policies.schema.json
  sluice schema --envoy > ratelimit.schema.json
  and in the first line of a config: # yaml-language-server: $schema=./policies.schema.json`,
  flags: { json: { type: 'boolean' }, envoy: { type: 'boolean' } },
  async run(flags, terminal) {
    if (flags.words.length > 0) throw new UsageError(`unexpected ${JSON.stringify(flags.words[0])}`);
    terminal.out(JSON.stringify(flags.has('envoy') ? ENVOY_SCHEMA : CONFIG_SCHEMA, undefined, 2));
    return EXIT.ok;
  },
};
