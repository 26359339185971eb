/** Where the program of a worker is: beside that of the command. */
import { fileURLToPath } from 'node:url';

export const WORKER_FILE = fileURLToPath(new URL('../../bin/worker.mjs', import.meta.url));
