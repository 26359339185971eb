/** The service in a process of its own. */
import { startServices } from '../contenders/service.mjs';
import { answerRequests } from './child.mjs';
import { processCpuMicros } from './cpu.mjs';

answerRequests({ listen: () => startServices(), cpu: processCpuMicros });
