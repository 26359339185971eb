/** The service in a process of its own. */
import { startServices } from '../contenders/service.mjs';
import { answerRequests } from './child.mjs';

answerRequests({
  listen: () => startServices(),
  cpu: () => {
    const { user, system } = process.cpuUsage();
    return user + system;
  },
});
