import { algorithmSuite } from '../../../test/support/algorithm-suite.ts';

algorithmSuite('sliding-window-counter');
