import { algorithmSuite } from '../../../test/support/algorithm-suite.ts';

algorithmSuite('calendar-quota');
