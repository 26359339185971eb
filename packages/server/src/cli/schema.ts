/** `sluice schema`: the JSON schema of config files, for editors. */
import { CONFIG_SCHEMA } from '../config/schema.ts';
import { type Command, parseArguments } from './command.ts';
import { EXIT } from './terminal.ts';

export const schemaCommand: Command = {
  name: 'schema',
  summary: 'Prints the JSON schema of config files, for editors.',
  help: `Usage: sluice schema

Example:
  sluice schema > policies.schema.json
  and in the first line of a config: # yaml-language-server: $schema=./policies.schema.json`,
  async run(args, terminal) {
    parseArguments(args, { json: { type: 'boolean' } }, terminal);
    terminal.out(JSON.stringify(CONFIG_SCHEMA, undefined, 2));
    return EXIT.ok;
  },
};
