/** One of the processes of `sluice serve --workers`. It is told everything by the one that starts it. */
import { work } from '../dist/cli/worker.js';

work();
