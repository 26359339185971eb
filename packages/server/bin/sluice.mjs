#!/usr/bin/env node
/** The command: a file that exists before the build, because npm links it when it installs. */
import { main } from '../dist/cli/main.js';

process.exitCode = await main(process.argv.slice(2));
