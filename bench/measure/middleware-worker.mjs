/** One HTTP server in a process of its own. */
import { startFramework } from '../contenders/middleware.mjs';
import { answerRequests } from './child.mjs';

answerRequests({
  listen: ({ framework, variant }) => startFramework(framework, variant),
  cpu: () => {
    const { user, system } = process.cpuUsage();
    return user + system;
  },
});
