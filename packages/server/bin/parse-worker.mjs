/** One of the threads of `sluice backtest --workers`. It is told everything by the one that starts it. */
import { work } from '../dist/log-files/parse-worker.js';

work();
