/** Where the program of a worker is that reads blocks: beside that of the command. */
import { fileURLToPath } from 'node:url';

export const PARSE_WORKER_FILE = fileURLToPath(new URL('../../bin/parse-worker.mjs', import.meta.url));
