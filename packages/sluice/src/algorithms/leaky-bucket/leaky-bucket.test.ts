import { algorithmSuite } from '../../../test/support/algorithm-suite.ts';

algorithmSuite('leaky-bucket');
