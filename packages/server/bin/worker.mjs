/** One of the processes of `sluice serve --workers`. It is told everything by the one that starts it. */
import { keepHeapSmall } from '../dist/cli/heap.js';

keepHeapSmall(process.env.NODE_OPTIONS);
const { work } = await import('../dist/cli/worker.js');
work();
